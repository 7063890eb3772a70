//! What a pickle that `torch.save` wrote holds, as plain data.

use ::safetensors::Dtype;

use super::pickle_machine::{MOST_NODES, Machine};

/// A pickle as plain data.
#[derive(Debug)]
pub(super) struct Pickle {
    nodes: Vec<Node>,
    top: usize,
    storages: Vec<Storage>,
}

/// A value. Containers name their members by number, so that one that is filled after it was remembered is the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    None,
    Bool(bool),
    Int(i64),
    /// A whole number beyond 64 bits, or a floating-point one, as text: neither is ever needed.
    Number(String),
    Text(String),
    List(Vec<usize>),
    Tuple(Vec<usize>),
    Dict(Vec<(usize, usize)>),
    /// `module.name`, a function that puts tensors together, or a kind of storage.
    Global(String),
    Storage(usize),
    Tensor {
        storage: usize,
        offset: usize,
        shape: Vec<usize>,
        strides: Vec<usize>,
    },
}

/// Numbers of one kind, to be found under a key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Storage {
    pub key: String,
    pub dtype: Dtype,
}

impl Pickle {
    /// Reads one pickle from the start of some bytes; gives it and how many bytes it took.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(bytes: &[u8]) -> Result<(Self, usize), String> {
        let mut machine = Machine::new(bytes);
        while !machine.step()? {}
        let top = machine.pop()?;
        Ok((Self { nodes: machine.nodes, top, storages: machine.storages }, machine.at))
    }

    fn text(&self, node: usize) -> Option<&str> {
        match self.nodes.get(node)? {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A pickle of one number or text.
    pub fn top_as_text(&self) -> Option<String> {
        match self.nodes.get(self.top)? {
            Node::Text(text) | Node::Number(text) => Some(text.clone()),
            Node::Int(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// A pickle of a list of texts.
    pub fn top_as_texts(&self) -> Option<Vec<String>> {
        match self.nodes.get(self.top)? {
            Node::List(items) => items.iter().map(|item| self.text(*item).map(str::to_owned)).collect(),
            _ => None,
        }
    }

    pub fn storages(&self) -> impl Iterator<Item = &Storage> {
        self.storages.iter()
    }

    pub fn storage(&self, number: usize) -> Option<&Storage> {
        self.storages.get(number)
    }

    /// The names and tensors of the dictionary that it is, and of those that lie in it: a trainer keeps a model as
    /// `state_dict`, `model`, `net` or the like beside much else. Names of the inner ones begin with that.
    ///
    /// # Errors
    /// What it is instead.
    pub fn state(&self) -> Result<Vec<(String, &Node)>, String> {
        let mut found = Vec::new();
        let mut steps = 0;
        self.gather(self.top, "", 0, &mut steps, &mut found)?;
        if found.is_empty() {
            return Err("it holds no dictionary of tensors".into());
        }
        Ok(found)
    }

    fn gather<'a>(
        &'a self,
        node: usize,
        before: &str,
        depth: usize,
        steps: &mut usize,
        found: &mut Vec<(String, &'a Node)>,
    ) -> Result<(), String> {
        // Deep enough for a model in a trainer's state in a list of such.
        if depth > 5 {
            return Ok(());
        }
        let members: Vec<(String, usize)> = match self.nodes.get(node) {
            Some(Node::Dict(entries)) => {
                entries.iter().filter_map(|(key, value)| Some((self.text(*key)?.to_owned(), *value))).collect()
            }
            Some(Node::List(items) | Node::Tuple(items)) => {
                items.iter().enumerate().map(|(at, item)| (at.to_string(), *item)).collect()
            }
            _ => return Ok(()),
        };
        let is_named = matches!(self.nodes.get(node), Some(Node::Dict(_)));
        for (key, value) in members {
            // What lies in several places is looked at in each.
            *steps += 1;
            if *steps > MOST_NODES {
                return Err("its pickle nests more than any that names tensors".into());
            }
            match self.nodes.get(value) {
                // A weight's name has parts: what a trainer keeps, such as `rng_state`, has none.
                Some(Node::Tensor { .. }) if !key.contains('.') && is_of_training(&key) => {}
                Some(tensor @ Node::Tensor { .. }) if is_named => found.push((format!("{before}{key}"), tensor)),
                _ if is_of_training(&key) => {}
                _ => self.gather(value, &format!("{before}{key}."), depth + 1, steps, found)?,
            }
        }
        Ok(())
    }
}

/// Keys under which a trainer keeps what is no part of the model, though it can hold tensors.
fn is_of_training(key: &str) -> bool {
    let key = key.to_lowercase();
    ["optim", "opt_", "lr_", "sched", "scaler", "amp", "rng", "callbacks", "loops", "hyper_parameters", "hparams"]
        .iter()
        .any(|word| key.starts_with(word))
        || key == "opt"
}

#[cfg(test)]
mod tests {
    use super::super::pickle_machine::long;
    use super::*;

    fn read(bytes: &[u8]) -> Result<Pickle, String> {
        Pickle::read(bytes).map(|(pickle, _)| pickle)
    }

    #[test]
    fn a_pickle_that_would_run_something_is_refused_by_name() {
        // As pickle.dumps makes it of an object whose __reduce__ gives os.system.
        for (module, name) in [("os", "system"), ("posix", "system"), ("builtins", "eval"), ("torch", "load")] {
            let text = format!("c{module}\n{name}\n(X\x04\0\0\0true\x74R.");
            let error = read(text.as_bytes()).unwrap_err();
            assert!(error.contains(&format!("asks for {module}.{name}")), "{error}");
        }
        let stacked = b"\x80\x04\x8c\x02os\x8c\x06system\x93.";
        assert!(read(stacked).unwrap_err().contains("os.system"));
        assert!(read(b"ios\nsystem\n.").unwrap_err().contains("instruction (0x69)"));
    }

    #[test]
    fn what_is_no_whole_pickle_gives_a_sentence() {
        for bytes in
            [&b""[..], b"\x80", b"\x80\x02", b"X\xff\xff\xff\xff", b"q\0.", b"u.", b"h\x07.", b"R.", b"(s.", b"\xff."]
        {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
        let mut deep = b"\x80\x02".to_vec();
        deep.extend(std::iter::repeat_n(b']', 100_000));
        deep.push(b'.');
        assert!(read(&deep).is_ok(), "values do not nest in memory");
        let many = vec![b'N'; MOST_NODES + 10];
        assert!(read(&many).unwrap_err().contains("more than"));
    }

    #[test]
    fn numbers_of_any_length() {
        assert_eq!(long(&[0xff]), Node::Int(-1));
        assert_eq!(long(&[0x2c, 0x01]), Node::Int(300));
        let magic = [0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
        assert_eq!(long(&magic), Node::Number("119547037146038801333356".into()));
    }
}
