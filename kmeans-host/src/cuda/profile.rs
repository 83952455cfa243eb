//! What a GPU does during a piece of work, step by step, and how long each kind of step takes: for benchmarks.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, DriverError};

/// A kind of step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A kernel was launched, the entry point of this name.
    Kernel(String),
    /// A kernel's module was loaded: compiled by the driver, unless there is machine code for this GPU.
    Load,
    /// Bytes went from the host to the device.
    ToDevice,
    /// Bytes went from the device to the host.
    ToHost,
    /// Bytes were copied within the device.
    Copy,
    /// Bytes were set to zero.
    Clear,
}

/// All steps of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// The kind.
    pub step: Step,
    /// How often.
    pub times: u64,
    /// How long in all: on the device, between two events; of [`Step::Load`], on the host.
    pub milliseconds: f64,
    /// Bytes moved or set; 0 for kernels.
    pub bytes: u64,
}

/// What was done, in the order in which each kind came first.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The steps.
    pub tallies: Vec<Tally>,
    /// Milliseconds between two events with nothing between them: what each step's time is too long by, at least. Where the
    /// device waits for the host, the time to launch is in it too.
    pub empty_milliseconds: f64,
}

/// Steps as they are noted, if somebody asked for it.
#[derive(Default)]
pub struct Notes(Mutex<Option<Vec<Note>>>);

struct Note {
    step: Step,
    bytes: u64,
    time: Time,
}

enum Time {
    OnHost(Duration),
    Between(CudaEvent, CudaEvent),
}

impl Notes {
    /// Whether steps are noted.
    pub fn are_taken(&self) -> bool {
        self.lock().is_some()
    }

    /// From now on.
    pub fn begin(&self) {
        *self.lock() = Some(Vec::new());
    }

    /// A step on the device.
    pub fn add(&self, step: Step, bytes: u64, start: CudaEvent, end: CudaEvent) {
        self.push(Note { step, bytes, time: Time::Between(start, end) });
    }

    /// A step on the host.
    pub fn add_since(&self, step: Step, begun: Instant) {
        self.push(Note { step, bytes: 0, time: Time::OnHost(begun.elapsed()) });
    }

    /// The steps noted, which are no more from now on. Waits for the device.
    pub fn end(&self) -> Result<Vec<Tally>, DriverError> {
        let notes = self.lock().take().unwrap_or_default();
        let mut tallies: Vec<Tally> = Vec::new();
        for note in notes {
            let milliseconds = match &note.time {
                Time::OnHost(time) => time.as_secs_f64() * 1e3,
                Time::Between(start, end) => {
                    end.synchronize()?;
                    start.elapsed_ms(end)?.into()
                }
            };
            add(&mut tallies, note.step, milliseconds, note.bytes);
        }
        Ok(tallies)
    }

    fn push(&self, note: Note) {
        if let Some(notes) = self.lock().as_mut() {
            notes.push(note);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Vec<Note>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn add(tallies: &mut Vec<Tally>, step: Step, milliseconds: f64, bytes: u64) {
    if let Some(tally) = tallies.iter_mut().find(|tally| tally.step == step) {
        tally.times += 1;
        tally.milliseconds += milliseconds;
        tally.bytes += bytes;
    } else {
        tallies.push(Tally { step, times: 1, milliseconds, bytes });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_a_kind_are_added_up_in_the_order_of_the_first() {
        let mut tallies = Vec::new();
        add(&mut tallies, Step::ToDevice, 1.0, 100);
        add(&mut tallies, Step::Kernel("a".into()), 0.5, 0);
        add(&mut tallies, Step::ToDevice, 2.0, 11);
        let expected = [
            Tally { step: Step::ToDevice, times: 2, milliseconds: 3.0, bytes: 111 },
            Tally { step: Step::Kernel("a".into()), times: 1, milliseconds: 0.5, bytes: 0 },
        ];
        assert_eq!(tallies, expected);
    }

    #[test]
    fn nothing_is_noted_unless_asked_for() {
        let notes = Notes::default();
        notes.add_since(Step::Load, Instant::now());
        assert!(!notes.are_taken());
        notes.begin();
        notes.add_since(Step::Load, Instant::now());
        let tallies = notes.end().unwrap();
        assert_eq!((tallies.len(), tallies[0].times), (1, 1));
        assert!(!notes.are_taken());
    }
}
