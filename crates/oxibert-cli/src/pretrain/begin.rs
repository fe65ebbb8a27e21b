//! How a run begins: anew, from another checkpoint, or where it was interrupted.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use oxibert::data::files;
use oxibert::data::shard::Shards;
use oxibert::model::{Checkpoint, Config, PRESETS, Pretraining, Weights};
use oxibert::nn::Params;
use oxibert::task::pretrain::Pretrain;
use oxibert::text::Tokenizer;
use oxibert::train::{OPTIMIZER_FILE, Optimizer, Store, Stored};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Arguments;
use super::settings::Settings;
use crate::given;
use crate::hub;
use crate::numbers;
use crate::output::{remark, short_name};

/// The file that says what a run was begun with.
const RUN_FILE: &str = "run.json";
const VERSION: u32 = 1;
const DEFAULT_PRESET: &str = "mini";

/// Everything that a run starts from.
pub(crate) struct Start {
    pub(crate) config: Config,
    pub(crate) settings: Settings,
    pub(crate) values: Vec<f32>,
    pub(crate) optimizer: Optimizer,
    pub(crate) store: Store,
    /// The checkpoint that it goes on from.
    pub(crate) checkpoint: Option<Stored>,
    pub(crate) title: String,
}

/// What a run was begun with.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    version: u32,
    /// The shards' own fingerprint: others would continue another run.
    data: String,
    /// The checkpoint that it was begun from.
    model: Option<String>,
    /// What the model is called in titles.
    name: String,
    config: BTreeMap<String, Value>,
    settings: Settings,
}

/// A new run in `out`.
pub(super) fn anew(arguments: &Arguments, shards: &Shards, tokenizer: &Tokenizer) -> Result<Start> {
    let (mut config, weights) = open(arguments, tokenizer)?;
    let settings = arguments.flags.decide(config.hidden_size, weights.is_some())?;
    arguments.flags.common.note(arguments.manner.quiet);
    settings.apply(&mut config)?;
    let name = arguments.model.as_ref().or(arguments.config.as_ref()).map_or(DEFAULT_PRESET, String::as_str);
    let recipe = Recipe::new(name, arguments.model.clone(), &config, settings, shards);
    recipe.begin(&arguments.out, arguments.force, weights.as_ref(), shards, tokenizer)
}

/// The shape, and the weights to start from.
fn open(arguments: &Arguments, tokenizer: &Tokenizer) -> Result<(Config, Option<Weights>)> {
    match &arguments.model {
        Some(model) => {
            let place = hub::resolve(model)?;
            check_vocabulary(&place, tokenizer)?;
            let Checkpoint { config, weights } = Checkpoint::open(&place)?;
            Ok((config, Some(weights)))
        }
        None => {
            let name = arguments.config.as_deref().unwrap_or(DEFAULT_PRESET);
            Ok((shape(name, tokenizer.vocab().len())?, None))
        }
    }
}

/// A model goes on only with its own words: with others it would run, and learn all of them anew. A checkpoint without a
/// tokenizer cannot be asked.
fn check_vocabulary(model: &Path, data: &Tokenizer) -> Result<()> {
    let Ok(own) = Tokenizer::load(model) else { return Ok(()) };
    if own.vocab().fingerprint() != data.vocab().fingerprint() {
        bail!(
            "--model: the shards are of another vocabulary ({} tokens) than {} ({}); prepare the text anew with --model {1}",
            data.vocab().len(),
            model.display(),
            own.vocab().len(),
        );
    }
    Ok(())
}

/// A preset, or what a file says.
fn shape(name: &str, vocab_size: usize) -> Result<Config> {
    if PRESETS.contains(&name) {
        return Ok(Config::preset(name, vocab_size)?);
    }
    let path = Path::new(name);
    if !path.exists() {
        bail!("--config: {name:?} is neither a file nor one of {}", PRESETS.join(", "));
    }
    Ok(Config::load(path)?)
}

impl Recipe {
    pub(crate) fn new(
        name: &str,
        model: Option<String>,
        config: &Config,
        settings: Settings,
        shards: &Shards,
    ) -> Self {
        let name = name.to_owned();
        Self { version: VERSION, data: fingerprint(shards), model, name, config: config.to_json(), settings }
    }

    /// Checks that all fits, before the directory is touched; then makes it.
    pub(crate) fn begin(
        self,
        out: &Path,
        force: bool,
        weights: Option<&Weights>,
        shards: &Shards,
        tokenizer: &Tokenizer,
    ) -> Result<Start> {
        Pretrain::new(&self.config(out)?, tokenizer, shards, self.settings.task(1))?;
        let store = Store::create(out, force)?;
        files::save(&out.join(RUN_FILE), |file| Ok(serde_json::to_writer_pretty(file, &self)?))?;
        self.at_first(weights, store)
    }

    /// Where the run begins.
    fn at_first(self, weights: Option<&Weights>, store: Store) -> Result<Start> {
        let config = self.config(store.directory())?;
        let layout = Pretraining::new(&config).layout().clone();
        let Params { layout, values } = match weights {
            Some(weights) => Params::load_known(layout, &config, weights, self.settings.seed)?,
            None => Params::new(layout, &config, self.settings.seed),
        };
        let optimizer = Optimizer::new(&layout, self.settings.optimizer());
        let title = self.title(values.len());
        Ok(Start { config, settings: self.settings, values, optimizer, store, checkpoint: None, title })
    }

    fn config(&self, directory: &Path) -> Result<Config> {
        Ok(Config::parse(&serde_json::to_vec(&self.config)?, &directory.join(RUN_FILE))?)
    }

    fn title(&self, parameters: usize) -> String {
        let verb = if self.model.is_some() { "continued pretraining" } else { "pretraining" };
        format!("{verb} of {}, {} parameters", short_name(&self.name), numbers::count(parameters as u64))
    }
}

/// The run in `out`, from its newest checkpoint on.
pub(super) fn resume(arguments: &Arguments, shards: &Shards) -> Result<Start> {
    let recipe = read_recipe(&arguments.out)?;
    check_same(arguments, shards, &recipe)?;
    let store = Store::open(&arguments.out)?;
    if !store.has_checkpoints()? {
        // Stopped before the first one was written: nothing is lost by starting at the beginning.
        let weights = match &recipe.model {
            Some(model) => Some(Weights::open(&hub::resolve(model)?)?),
            None => None,
        };
        return recipe.at_first(weights.as_ref(), store);
    }
    let latest = store.latest()?;
    for skipped in &latest.skipped {
        remark(format_args!(
            "note: {} is damaged ({}); going back",
            skipped.directory.display(),
            skipped.reason
        ));
    }
    let directory = &latest.checkpoint.directory;
    let config = recipe.config(&arguments.out)?;
    let layout = Pretraining::new(&config).layout().clone();
    let Params { layout, values } = Params::load(layout, &Checkpoint::open(directory)?.weights)?;
    let optimizer = Optimizer::load(&directory.join(OPTIMIZER_FILE), &layout, recipe.settings.optimizer())?;
    let title = recipe.title(values.len());
    let checkpoint = Some(latest.checkpoint);
    Ok(Start { config, settings: recipe.settings, values, optimizer, store, checkpoint, title })
}

fn read_recipe(directory: &Path) -> Result<Recipe> {
    let path = directory.join(RUN_FILE);
    if !path.exists() {
        bail!(
            "--resume: there is no run in {} ({RUN_FILE} is missing); leave --resume out to begin one",
            directory.display()
        );
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{}: not what a run of this version writes", path.display()))
}

/// A run goes on only with the data, the model and the settings that it was begun with.
fn check_same(arguments: &Arguments, shards: &Shards, recipe: &Recipe) -> Result<()> {
    if recipe.data != fingerprint(shards) {
        bail!(
            "{}: these are not the shards that the run in {} was begun with; name those, or begin a new run elsewhere with \
             --model",
            arguments.data.display(),
            arguments.out.display()
        );
    }
    if arguments.model.is_some() && arguments.model != recipe.model {
        bail!("--model: the run was not begun with it; leave it out to go on");
    }
    if let Some(name) = &arguments.config {
        let mut config = shape(name, shards.prepared().vocab_size as usize)?;
        recipe.settings.apply(&mut config)?;
        let given = config.to_json();
        if let Some(field) = given.keys().find(|field| given.get(*field) != recipe.config.get(*field)) {
            bail!(
                "--config: {field} is {} in {name}, but the run was begun with {}; leave --config out to go on",
                given[field],
                recipe.config.get(field).unwrap_or(&Value::Null)
            );
        }
    }
    given::check(&recipe.settings, &given::given(&arguments.flags))
}

/// What tells these shards from others: their checksums and their vocabulary.
fn fingerprint(shards: &Shards) -> String {
    let prepared = shards.prepared();
    let sums: Vec<String> = prepared.shards.iter().map(|shard| format!("{:08x}", shard.crc)).collect();
    format!("{:016x}:{}", prepared.vocab_fingerprint, sums.join(""))
}
