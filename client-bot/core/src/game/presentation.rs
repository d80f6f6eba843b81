//! What a game shows of its world, beside the view.

use script::Forecast;
use shared::wire::DecodeError;
use shared::wire::control::Quotas;

use crate::prediction::Prediction;
use crate::record::{Record, Recorder};
use crate::scene::Scene;
use crate::view::View;

/// The picture of a world, and the events since the last poll.
pub(super) struct Presentation {
    pub scene: Scene,
    pub record: Record,
    pub prediction: Prediction,
}

impl Presentation {
    pub fn new(view: &View, forecast: Forecast, quotas: &Quotas) -> Presentation {
        let schema = view.schema();
        Presentation {
            scene: Scene::new(schema),
            record: Record::new(schema, view.entity()),
            prediction: Prediction::new(schema, forecast, quotas),
        }
    }

    /// Another connection begins, with this view.
    pub fn resume(&mut self, view: &View, forecast: Forecast) {
        self.record.resume(view.entity());
        self.prediction.resume();
        self.prediction.change(view.schema(), forecast);
    }

    pub fn recorder(&mut self) -> Recorder<'_> {
        Recorder {
            record: &mut self.record,
            scene: &mut self.scene,
            prediction: &mut self.prediction,
            forecast: None,
        }
    }

    /// Bytes of the stream are read, maybe with another forecast.
    pub fn settle(&mut self, view: &View, forecast: Option<Vec<u8>>) -> Result<(), DecodeError> {
        if let Some(bytes) = forecast {
            let forecast = Forecast::from_bytes(&bytes, view.schema())?;
            self.prediction.change(view.schema(), forecast);
        }
        self.use_layers(view);
        self.record.settle(view, &mut self.scene);
        Ok(())
    }

    /// The view may have the world's layers.
    pub fn use_layers(&mut self, view: &View) {
        let layers = &view.schema().layers;
        if !layers.is_empty() {
            self.prediction.use_layers();
            self.scene.use_layers(layers);
        }
    }
}
