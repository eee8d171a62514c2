//! Small numbers for texts that come again and again.

use std::collections::HashMap;
use std::sync::Arc;

/// Texts and their numbers. A number that is given back is given out again, so that what is gone takes no room.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    by_text: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
    free: Vec<u32>,
}

impl Numbers {
    /// The number of a text, a new one if it has none.
    pub(crate) fn take(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.by_text.get(text) {
            return number;
        }
        let text: Arc<str> = text.into();
        let number = match self.free.pop() {
            Some(number) => {
                self.texts[number as usize] = Arc::clone(&text);
                number
            }
            None => {
                self.texts.push(Arc::clone(&text));
                u32::try_from(self.texts.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.by_text.insert(text, number);
        number
    }

    /// The number of a text that has one.
    pub(crate) fn get(&self, text: &str) -> Option<u32> {
        self.by_text.get(text).copied()
    }

    /// Gives a number back.
    pub(crate) fn give_back(&mut self, number: u32) {
        if let Some(text) = self.texts.get_mut(number as usize) {
            self.by_text.remove(text);
            *text = Arc::from("");
            self.free.push(number);
        }
    }

    /// The text of a number.
    pub(crate) fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }

    /// Every number is below this.
    pub(crate) fn bound(&self) -> usize {
        self.texts.len()
    }
}
