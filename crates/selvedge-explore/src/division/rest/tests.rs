//! Requests are granted in the order of one worker.

use super::*;

fn names(text: &str) -> Vec<ThreadKey> {
    text.split(' ').map(|name| name.parse().expect("a name")).collect()
}

fn ask(node: usize, threads: &str) -> Ask {
    Ask { node, threads: names(threads) }
}

fn done(floor: usize, asks: Vec<Ask>) -> Part {
    Part::Done(Tally { asks, floor, ..Tally::default() }, None)
}

fn to_do(unit: &str, floor: usize) -> Part {
    Part::ToDo(Pending { unit: unit.to_owned(), share: 0.0, floor })
}

fn rest(unit: &str, floor: usize) -> Part {
    let pending = Pending { unit: unit.to_owned(), share: 0.0, floor };
    Part::Rest(Rest::of(&pending).expect("it is a rest"))
}

/// What is left, as text: rests have their floor.
fn left(parts: &[Part]) -> Vec<String> {
    let text = |part: &Part| match part {
        Part::Done(..) => None,
        Part::ToDo(unit) => Some(unit.unit.clone()),
        Part::Rest(rest) => Some(format!("{}^{}", rest.nodes, rest.floor)),
    };
    parts.iter().filter_map(text).collect()
}

fn settled(mut parts: Vec<Part>) -> Vec<Part> {
    settle(&mut parts, |part| part);
    parts
}

#[test]
fn nodes_are_written_and_read() {
    for text in ["0", "1-0", "2-1-0:3", "1-0+2+3", "+1+0", "0/1-2/0:1", "1-0.2:1.+0"] {
        let nodes: Nodes = text.parse().expect("these are nodes");
        assert_eq!(nodes.to_string(), text);
    }
    for text in ["x", "0-", "0:x", "0+", "-0", "0:1-1"] {
        assert!(text.parse::<Nodes>().is_err(), "{text}");
    }
    for (text, floor) in [("0", 0), ("0.+1", 2), ("+1.+1", 0)] {
        let pending = Pending { unit: text.to_owned(), share: 0.0, floor };
        assert!(Rest::of(&pending).is_none(), "{text} {floor}");
    }
}

/// The first part that is done may ask; one behind another that is still to be run may not yet.
#[test]
fn who_comes_first_is_granted_first() {
    let asks = || vec![ask(0, "3")];
    let parts = settled(vec![to_do("1", 1), done(1, asks()), rest("+1+2", 0)]);
    assert_eq!(left(&parts), ["1", "+1+2^0"]);
    let parts = settled(vec![done(1, vec![ask(0, "0 3")]), to_do("1-2", 1), rest("+1+2", 0)]);
    assert_eq!(left(&parts), ["1-2", "1-2-0", "+1+2+0^0"], "behind those that are known");
    let parts = settled(vec![done(1, vec![ask(0, "0 2")]), to_do("1-2", 1), rest("+1+2", 0)]);
    assert_eq!(left(&parts), ["1-2", "+1+2^0"], "another is explored anyway");
    let parts = settled(vec![done(1, asks()), done(1, vec![ask(0, "2 3")]), rest("+1", 0)]);
    assert_eq!(left(&parts), ["1-3", "+1+3^0"], "the second one is granted by the first");
}

#[test]
fn what_is_deeper_comes_first() {
    let asks = vec![ask(0, "3"), ask(2, "5"), ask(1, "4")];
    let parts = settled(vec![done(3, asks), to_do("1.2.0-1", 3), rest("1.2.+0+1", 0)]);
    let expected = ["1.2.0-1", "1.2.0-1-5", "1.2.+0+1+5^2", "1.2-4", "1.+2+4^1", "1-3", "+1+3^0"];
    assert_eq!(left(&parts), expected);
}

/// What is asked for at a node that a rest does not have goes to one behind it.
#[test]
fn others_have_the_nodes_above() {
    let inner = || vec![done(2, vec![ask(0, "3")]), rest("1.+2", 1)];
    let parts = settled([inner(), vec![to_do("1-0", 1), rest("+1+0", 0)]].concat());
    assert_eq!(left(&parts), ["1-0", "1-0-3", "+1+0+3^0"], "nothing is left of the inner one");
    let parts = settled([vec![to_do("1.2", 2)], inner(), vec![rest("+1", 0)]].concat());
    assert_eq!(left(&parts), ["1.2", "1.+2^1", "+1^0"], "it waits for the first one");
}

#[test]
fn nothing_is_left_when_no_part_can_ask() {
    let parts = settled(vec![done(1, Vec::new()), rest("+1", 0)]);
    assert!(matches!(parts.as_slice(), [Part::Done(tally, _)] if tally.floor == 0));
    // Others have asked for something that is not of this search.
    let parts = settled(vec![done(9, vec![ask(7, "1")]), rest("+1", 0)]);
    assert_eq!(left(&parts), [""; 0]);
}
