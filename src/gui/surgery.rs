//! What the reader has done to the heads, with a history that can be gone back on.

use crate::run::{Edit, HeadId, HeadPattern, Intervention};

/// An edit, which can be switched off and on without being lost.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub edit: Edit,
    pub on: bool,
}

/// The edits in the order in which they apply, and how they came to be.
#[derive(Debug, Default)]
pub struct Surgery {
    entries: Vec<Entry>,
    /// What was done, oldest first, each with the entries before it.
    done: Vec<Step>,
    /// What was undone, the next to do again last, each with the entries after it.
    undone: Vec<Step>,
    /// How many steps were made, undoing apart.
    changes: u64,
}

#[derive(Debug, Clone)]
struct Step {
    name: String,
    entries: Vec<Entry>,
}

impl Surgery {
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The edits that are switched on.
    pub fn active(&self) -> Vec<Edit> {
        self.entries.iter().filter(|entry| entry.on).map(|entry| entry.edit.clone()).collect()
    }

    /// What was done, oldest first, as “zero 3.4”.
    pub fn history(&self) -> impl Iterator<Item = &str> {
        self.done.iter().map(|step| step.name.as_str())
    }

    /// How many steps were made, those that were taken back included.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether a head is edited, by an edit of its own or of its layer or column.
    pub fn touches(&self, head: HeadId) -> bool {
        self.entries.iter().any(|entry| entry.on && entry.edit.heads.covers(head))
    }

    /// Whether a head is off: its context is 0 whatever came before.
    pub fn is_zero(&self, head: HeadId) -> bool {
        let mut own = self.entries.iter().filter(|entry| entry.on && entry.edit.heads.covers(head));
        own.rfind(|entry| gives_context(&entry.edit.what)).is_some_and(|entry| entry.edit.what == Intervention::Zero)
    }

    /// The factor of a head's last scale; 1 without one.
    pub fn scale(&self, head: HeadId) -> f32 {
        let own = self.entries.iter().rev().filter(|entry| entry.on && entry.edit.heads.covers(head));
        let factor = own.filter_map(|entry| match entry.edit.what {
            Intervention::Scale(factor) => Some(factor),
            _ => None,
        });
        factor.into_iter().next().unwrap_or(1.0)
    }

    /// Whether each of these heads, layers or columns is off by an edit of just that name.
    pub fn are_zeroed(&self, heads: &[HeadPattern]) -> bool {
        let zero = |heads: HeadPattern| Edit { heads, what: Intervention::Zero };
        !heads.is_empty() && heads.iter().all(|&heads| self.entries.iter().any(|entry| entry.edit == zero(heads)))
    }

    /// Switches heads off, or on again if all that these words name was off by just that.
    pub fn toggle_zero(&mut self, heads: &[HeadPattern]) {
        let edits: Vec<Edit> = heads.iter().map(|&heads| Edit { heads, what: Intervention::Zero }).collect();
        if self.are_zeroed(heads) {
            let name = format!("undo zero {}", names(&edits));
            self.change(name, |entries| entries.retain(|entry| !edits.contains(&entry.edit)));
        } else {
            self.add_all(edits);
        }
    }

    /// Adds edits of one kind in one step; those that are there already come last and are on again.
    pub fn add_all(&mut self, edits: Vec<Edit>) {
        let Some(first) = edits.first() else { return };
        let name = format!("{} {}", first.what, names(&edits));
        self.change(name, |entries| {
            entries.retain(|entry| !edits.contains(&entry.edit));
            entries.extend(edits.into_iter().map(|edit| Entry { edit, on: true }));
        });
    }

    /// Scales heads. A slider sends many values: those that follow each other are one step of the history.
    pub fn scale_to(&mut self, heads: HeadPattern, factor: f32) {
        let edit = Edit { heads, what: Intervention::Scale(factor) };
        let name = format!("{} {}", edit.what, edit.heads);
        let is_scale = |entry: &Entry| entry.edit.heads == heads && matches!(entry.edit.what, Intervention::Scale(_));
        let sliding = self
            .done
            .last()
            .is_some_and(|step| step.name.starts_with("scale:") && step.name.ends_with(&format!(" {heads}")));
        let set = |entries: &mut Vec<Entry>| {
            entries.retain(|entry| !is_scale(entry));
            // A factor of 1 is no edit.
            if factor != 1.0 {
                entries.push(Entry { edit, on: true });
            }
        };
        if sliding {
            set(&mut self.entries);
            if let Some(step) = self.done.last_mut() {
                step.name = name;
            }
        } else {
            self.change(name, set);
        }
    }

    /// Cuts an edge, or joins it again.
    pub fn toggle_cuts(&mut self, cuts: Vec<Edit>) {
        let place = |edit: &Edit| self.entries.iter().position(|entry| entry.edit == *edit);
        let places: Option<Vec<usize>> = cuts.iter().map(place).collect();
        match places.as_deref() {
            Some([at]) => self.remove(*at),
            Some(_) => {
                let name = format!("remove {} cuts", cuts.len());
                self.change(name, |entries| entries.retain(|entry| !cuts.contains(&entry.edit)));
            }
            None => self.add_all(cuts),
        }
    }

    /// Switches an edit off or on without losing it.
    pub fn switch(&mut self, at: usize) {
        let Some(entry) = self.entries.get(at) else { return };
        let name =
            format!("{} {} {}", if entry.on { "switch off" } else { "switch on" }, entry.edit.what, entry.edit.heads);
        self.change(name, |entries| entries[at].on = !entries[at].on);
    }

    pub fn remove(&mut self, at: usize) {
        let Some(entry) = self.entries.get(at) else { return };
        let name = format!("remove {} {}", entry.edit.what, entry.edit.heads);
        self.change(name, |entries| {
            entries.remove(at);
        });
    }

    pub fn clear(&mut self) {
        if !self.entries.is_empty() {
            self.change("remove all edits".into(), Vec::clear);
        }
    }

    /// The heads that are off, in a model of so many layers and heads.
    pub fn off(&self, layers: usize, heads: usize) -> Vec<HeadId> {
        HeadId::all(layers, heads).filter(|head| self.is_zero(*head)).collect()
    }

    /// Switches several heads off in one step; those that are off by themselves already stay.
    pub fn switch_off(&mut self, heads: &[HeadId]) {
        let edits = heads.iter().map(|&head| Edit { heads: head.into(), what: Intervention::Zero });
        let is_off = |edit: &Edit| self.entries.iter().any(|entry| entry.on && entry.edit == *edit);
        self.add_all(edits.filter(|edit| !is_off(edit)).collect());
    }

    /// Puts other edits in the place of all, as one step.
    pub fn replace(&mut self, name: String, new: Vec<Entry>) {
        if self.entries != new {
            self.change(name, |entries| *entries = new);
        }
    }

    /// Takes the last step back; its name, if there was one.
    pub fn undo(&mut self) -> Option<String> {
        let step = self.done.pop()?;
        let after = std::mem::replace(&mut self.entries, step.entries);
        self.undone.push(Step { name: step.name.clone(), entries: after });
        Some(step.name)
    }

    /// Does again what was taken back last; its name, if there was anything.
    pub fn redo(&mut self) -> Option<String> {
        let step = self.undone.pop()?;
        let before = std::mem::replace(&mut self.entries, step.entries);
        self.done.push(Step { name: step.name.clone(), entries: before });
        Some(step.name)
    }

    fn change(&mut self, name: String, change: impl FnOnce(&mut Vec<Entry>)) {
        let before = self.entries.clone();
        change(&mut self.entries);
        self.done.push(Step { name, entries: before });
        self.undone.clear();
        self.changes += 1;
    }
}

/// The heads of some edits: “3.4”, “3.4 and 5.1”, “6 heads”.
fn names(edits: &[Edit]) -> String {
    match edits {
        [one] => one.heads.to_string(),
        [one, other] => format!("{} and {}", one.heads, other.heads),
        many => format!("{} heads", many.len()),
    }
}

fn gives_context(what: &Intervention) -> bool {
    matches!(what, Intervention::Zero | Intervention::Mean(_) | Intervention::PatchContext(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(surgery: &Surgery) -> Vec<String> {
        surgery.active().iter().map(ToString::to_string).collect()
    }

    fn head(text: &str) -> HeadPattern {
        text.parse().unwrap()
    }

    #[test]
    fn every_step_can_be_taken_back_and_done_again() {
        let mut surgery = Surgery::default();
        surgery.toggle_zero(&[head("3.4")]);
        surgery.add_all(vec!["5.*=uniform".parse().unwrap()]);
        surgery.switch(0);
        surgery.remove(1);
        surgery.clear();
        assert_eq!(
            surgery.history().collect::<Vec<_>>(),
            ["zero 3.4", "uniform 5.*", "switch off zero 3.4", "remove uniform 5.*", "remove all edits"]
        );
        let mut seen = vec![words(&surgery)];
        while surgery.undo().is_some() {
            seen.push(words(&surgery));
        }
        let all = [vec![], vec![], vec!["5.*=uniform"], vec!["3.4=zero", "5.*=uniform"], vec!["3.4=zero"], vec![]];
        assert_eq!(seen, all);
        while surgery.redo().is_some() {
            seen.pop();
            assert_eq!(Some(&words(&surgery)), seen.last());
        }
        assert!(surgery.redo().is_none());
    }

    #[test]
    fn a_new_step_forgets_what_was_taken_back() {
        let mut surgery = Surgery::default();
        surgery.toggle_zero(&[head("0.0")]);
        surgery.undo();
        surgery.toggle_zero(&[head("1.1")]);
        assert!(surgery.redo().is_none());
        assert_eq!(words(&surgery), ["1.1=zero"]);
    }

    #[test]
    fn toggling_twice_is_nothing() {
        let mut surgery = Surgery::default();
        surgery.toggle_zero(&[head("2.*")]);
        assert!(surgery.is_zero(HeadId::new(2, 7)) && !surgery.is_zero(HeadId::new(3, 7)));
        surgery.toggle_zero(&[head("2.*")]);
        assert!(words(&surgery).is_empty());
    }

    #[test]
    fn a_selection_is_one_step() {
        let mut surgery = Surgery::default();
        surgery.toggle_zero(&[head("0.0")]);
        surgery.toggle_zero(&[head("0.0"), head("1.1"), head("2.2")]);
        assert_eq!(words(&surgery), ["0.0=zero", "1.1=zero", "2.2=zero"], "one was off: now all are");
        surgery.toggle_zero(&[head("1.1"), head("2.2")]);
        assert_eq!(words(&surgery), ["0.0=zero"]);
        surgery.switch_off(&[HeadId::new(0, 0), HeadId::new(1, 1)]);
        assert_eq!(words(&surgery), ["0.0=zero", "1.1=zero"]);
        let steps = ["zero 0.0", "zero 3 heads", "undo zero 1.1 and 2.2", "zero 1.1"];
        assert_eq!(surgery.history().collect::<Vec<_>>(), steps);
        surgery.switch_off(&[HeadId::new(1, 1)]);
        assert_eq!(surgery.history().count(), 4, "nothing was to be done");
    }

    #[test]
    fn a_slide_is_one_step_and_1_is_no_edit() {
        let mut surgery = Surgery::default();
        for factor in [0.9, 0.5, 0.2] {
            surgery.scale_to(head("1.1"), factor);
        }
        surgery.scale_to(head("1.2"), 2.0);
        assert_eq!(words(&surgery), ["1.1=scale:0.2", "1.2=scale:2"]);
        assert_eq!(surgery.scale(HeadId::new(1, 1)), 0.2);
        assert_eq!(surgery.history().collect::<Vec<_>>(), ["scale:0.2 1.1", "scale:2 1.2"]);
        surgery.undo();
        surgery.undo();
        assert!(words(&surgery).is_empty());
        surgery.scale_to(head("1.1"), 0.5);
        surgery.scale_to(head("1.1"), 1.0);
        assert!(words(&surgery).is_empty());
    }
}
