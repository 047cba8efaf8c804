//! Estimates come near to the number of classes, and the range that is shown contains it.

use selvedge_testkit::estimates::{Row, estimates};
use selvedge_testkit::{least, listed_programs};

#[test]
fn nine_of_ten_estimates_are_near() {
    let rows = estimates(&listed_programs(), 200, false).into_iter();
    let rows: Vec<Row> = rows.filter(|row| row.estimate.is_some()).collect();
    assert!(rows.len() > least(200), "only {} programs", rows.len());
    let far: Vec<&Row> = rows.iter().filter(|row| !row.is_near()).collect();
    assert!(far.len() * 10 <= rows.len(), "{} of {} are not: {far:#?}", far.len(), rows.len());
    let outside: Vec<&Row> = rows.iter().filter(|row| !row.is_in_range()).collect();
    assert!(outside.len() * 20 <= rows.len(), "{} are not in range: {outside:#?}", outside.len());
}
