//! Flags over defaults: which were given, whether a run that goes on was begun with them, and all of them in words.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// All fields, by name.
pub(crate) fn fields(settings: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(map)) => map,
        other => unreachable!("flags are an object: {other:?}"),
    }
}

/// The flags that were given, by name: one that was not is nothing, false or an empty list.
pub(crate) fn given(flags: &impl Serialize) -> Map<String, Value> {
    let mut all = fields(flags);
    all.retain(|_, value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        _ => true,
    });
    all
}

/// These flags over defaults, which are an object.
pub(crate) fn over<S: DeserializeOwned>(flags: &impl Serialize, defaults: Value) -> Result<S> {
    let Value::Object(mut all) = defaults else { unreachable!("defaults are an object: {defaults}") };
    all.extend(given(flags));
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Serialize)]
    struct Flags {
        steps: Option<u64>,
        bf16: bool,
        columns: Vec<u32>,
    }

    #[test]
    fn flags_that_were_not_given_leave_the_defaults() {
        let none = Flags { steps: None, bf16: false, columns: Vec::new() };
        assert!(given(&none).is_empty());
        let defaults = json!({ "steps": 7, "bf16": false, "columns": [1] });
        assert_eq!(over::<Value>(&none, defaults.clone()).unwrap(), defaults);
        let all = Flags { steps: Some(0), bf16: true, columns: vec![2] };
        let expected = json!({ "steps": 0, "bf16": true, "columns": [2] });
        assert_eq!(over::<Value>(&all, defaults).unwrap(), expected);
    }

    #[test]
    fn a_run_goes_on_with_what_it_was_begun_with() {
        let begun = Flags { steps: Some(7), bf16: true, columns: Vec::new() };
        let same = Flags { steps: None, bf16: true, columns: Vec::new() };
        assert!(check(&begun, &given(&same)).is_ok());
        let other = Flags { steps: Some(8), ..same };
        let told = check(&begun, &given(&other)).unwrap_err().to_string();
        assert!(told.starts_with("--steps: the run was begun with 7, now it is 8"), "{told}");
    }
}
