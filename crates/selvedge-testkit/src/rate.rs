//! How often something happens per second of this process's time on a processor: what else runs on the machine matters little.

/// For how long it is measured at least.
const SECONDS: f64 = 0.5;

/// Returns how many executions per second `explore` runs, which returns their number.
///
/// # Errors
/// If the system does not say for how long the process has run, as Linux does.
pub fn rate(mut explore: impl FnMut() -> u64) -> Result<f64, String> {
    let start = seconds()?;
    let mut executions = 0;
    loop {
        executions += explore();
        let passed = seconds()? - start;
        if passed > SECONDS {
            return Ok(executions as f64 / passed);
        }
    }
}

/// Returns for how long this process has run on a processor.
fn seconds() -> Result<f64, String> {
    let text = std::fs::read_to_string("/proc/self/stat")
        .map_err(|error| format!("/proc/self/stat: {error}"))?;
    // Behind the name, which may contain spaces: the 14th and 15th fields, in hundredths of a second.
    let fields = text.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
    Ok(ticks as f64 / 100.0)
}

/// Returns the geometric mean of rates.
pub fn mean(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().map(|rate| rate.ln()).sum();
    (sum / rates.len() as f64).exp()
}
