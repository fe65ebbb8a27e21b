//! Flags over defaults: which were given, whether a run that goes on was begun with them, and all of them in words.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The fields that are written down, by name. Flags that were not given are not.
pub(crate) fn fields(flags: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(flags) {
        Ok(Value::Object(map)) => map,
        other => unreachable!("flags are an object: {other:?}"),
    }
}

/// These flags over defaults, which are an object.
pub(crate) fn over<S: DeserializeOwned>(flags: &impl Serialize, defaults: Value) -> Result<S> {
    let Value::Object(mut all) = defaults else { unreachable!("defaults are an object: {defaults}") };
    all.extend(fields(flags));
    serde_json::from_value(Value::Object(all)).context("flags")
}

/// Refuses flags that differ from what a run was begun with.
pub(crate) fn check(settings: &impl Serialize, given: &Map<String, Value>) -> Result<()> {
    let own = fields(settings);
    for (name, value) in given {
        if own.get(name) != Some(value) {
            let flag = name.replace('_', "-");
            let before = own.get(name).map_or_else(String::new, Value::to_string);
            bail!(
                "--{flag}: the run was begun with {before}, now it is {value}; leave it out to go on, or begin a new run \
                 elsewhere (with --model it can start from this one)"
            );
        }
    }
    Ok(())
}

/// All of them as text, for the report.
pub(crate) fn list(settings: &impl Serialize) -> Vec<(String, String)> {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        // A number that was an f32 has more digits as an f64 than anybody has given it.
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(wide) if f64::from(wide as f32) == wide => (wide as f32).to_string(),
            _ => number.to_string(),
        },
        other => other.to_string(),
    };
    let all = fields(settings).into_iter().filter(|(_, value)| !value.is_null());
    all.map(|(name, value)| (name.replace('_', " "), shown(&value))).collect()
}
