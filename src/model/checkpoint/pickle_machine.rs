//! A reader of pickles that builds plain data alone: a pickle that asks for a function other than those that put tensors
//! together is refused with that function's name, and nothing is ever called.

use std::collections::HashMap;

use ::safetensors::Dtype;

use super::pickle::{Node, Storage};

/// Kinds of storages.
const STORAGES: [(&str, Dtype); 9] = [
    ("torch.FloatStorage", Dtype::F32),
    ("torch.HalfStorage", Dtype::F16),
    ("torch.BFloat16Storage", Dtype::BF16),
    ("torch.DoubleStorage", Dtype::F64),
    ("torch.LongStorage", Dtype::I64),
    ("torch.IntStorage", Dtype::I32),
    ("torch.ShortStorage", Dtype::I16),
    ("torch.ByteStorage", Dtype::U8),
    ("torch.BoolStorage", Dtype::BOOL),
];
const DICT: &str = "collections.OrderedDict";
const TENSOR: &str = "torch._utils._rebuild_tensor_v2";
const OLD_TENSOR: &str = "torch._utils._rebuild_tensor";
const PARAMETER: &str = "torch._utils._rebuild_parameter";
const PARAMETER_WITH_STATE: &str = "torch._utils._rebuild_parameter_with_state";
/// Puts a tensor together by another of these functions, and gives it attributes.
const OF_TYPE: &str = "torch._tensor._rebuild_from_type_v2";
/// All functions that a pickle may name beside storages.
const KNOWN: [&str; 6] = [DICT, TENSOR, OLD_TENSOR, PARAMETER, PARAMETER_WITH_STATE, OF_TYPE];

/// What trainers keep beside a model: settings, counts, random states. None is needed and none is made; such a value is
/// an empty dictionary here.
const IDLE: [&str; 40] = [
    "__builtin__.bytearray",
    "__builtin__.complex",
    "__builtin__.dict",
    "__builtin__.float",
    "__builtin__.frozenset",
    "__builtin__.int",
    "__builtin__.list",
    "__builtin__.set",
    "_codecs.encode",
    "argparse.Namespace",
    "builtins.bytearray",
    "builtins.complex",
    "builtins.dict",
    "builtins.float",
    "builtins.frozenset",
    "builtins.int",
    "builtins.list",
    "builtins.set",
    "collections.Counter",
    "collections.defaultdict",
    "datetime.datetime",
    "datetime.timedelta",
    "lightning.fabric.utilities.data.AttributeDict",
    "lightning.pytorch.utilities.parsing.AttributeDict",
    "numpy._core.multiarray._reconstruct",
    "numpy._core.multiarray.scalar",
    "numpy.core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar",
    "numpy.dtype",
    "numpy.ndarray",
    "pathlib.PosixPath",
    "pathlib.WindowsPath",
    "pathlib._local.PosixPath",
    "pathlib._local.WindowsPath",
    "pytorch_lightning.utilities.parsing.AttributeDict",
    "torch.Size",
    "torch.Tensor",
    "torch.device",
    "torch.nn.parameter.Parameter",
    "types.SimpleNamespace",
];
/// Kinds of numbers, which trainers keep as settings.
const KINDS: [&str; 9] = ["float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "bool"];

/// More values than any checkpoint has, and few enough to hold.
pub(super) const MOST_NODES: usize = 5_000_000;

/// What a stack holds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Item {
    Mark,
    Node(usize),
}

/// Reads instructions one by one.
pub(super) struct Machine<'a> {
    bytes: &'a [u8],
    /// The next instruction.
    pub at: usize,
    stack: Vec<Item>,
    memo: HashMap<u32, usize>,
    pub nodes: Vec<Node>,
    pub storages: Vec<Storage>,
}

impl<'a> Machine<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, stack: Vec::new(), memo: HashMap::new(), nodes: Vec::new(), storages: Vec::new() }
    }

    fn take(&mut self, count: usize) -> Result<&[u8], String> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or("it ends in the middle of its pickle")?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn little(&mut self, count: usize) -> Result<u64, String> {
        Ok(self.take(count)?.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    fn line(&mut self) -> Result<String, String> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or("it ends in the middle of its pickle")?;
        let line = String::from_utf8_lossy(&rest[..end]).into_owned();
        self.at += end + 1;
        Ok(line)
    }

    fn string(&mut self, length: u64) -> Result<Node, String> {
        let length = usize::try_from(length).map_err(|_| "a text in its pickle is longer than the file")?;
        Ok(Node::Text(String::from_utf8_lossy(self.take(length)?).into_owned()))
    }

    fn add(&mut self, node: Node) -> Result<usize, String> {
        if self.nodes.len() >= MOST_NODES {
            return Err(format!("its pickle has more than {MOST_NODES} values"));
        }
        self.nodes.push(node);
        Ok(self.nodes.len() - 1)
    }

    fn push(&mut self, node: Node) -> Result<(), String> {
        let node = self.add(node)?;
        self.stack.push(Item::Node(node));
        Ok(())
    }

    /// The value on top of the stack.
    pub fn pop(&mut self) -> Result<usize, String> {
        match self.stack.pop() {
            Some(Item::Node(node)) => Ok(node),
            _ => Err("its pickle takes what is not there".into()),
        }
    }

    fn top(&self) -> Result<usize, String> {
        match self.stack.last() {
            Some(Item::Node(node)) => Ok(*node),
            _ => Err("its pickle takes what is not there".into()),
        }
    }

    /// Everything down to the last mark, oldest first.
    fn marked(&mut self) -> Result<Vec<usize>, String> {
        let mark = self.stack.iter().rposition(|item| *item == Item::Mark).ok_or("its pickle has no mark")?;
        let items = self.stack.split_off(mark);
        Ok(items.into_iter().filter_map(|item| if let Item::Node(node) = item { Some(node) } else { None }).collect())
    }

    fn tuple(&mut self, count: usize) -> Result<(), String> {
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(self.pop()?);
        }
        items.reverse();
        self.push(Node::Tuple(items))
    }

    fn remember(&mut self, key: u32) -> Result<(), String> {
        let node = self.top()?;
        self.memo.insert(key, node);
        Ok(())
    }

    fn recall(&mut self, key: u32) -> Result<(), String> {
        let node = *self.memo.get(&key).ok_or("its pickle recalls what it never kept")?;
        self.stack.push(Item::Node(node));
        Ok(())
    }

    /// Puts pairs into the dictionary, or members into the list, on top of the stack.
    fn fill(&mut self, items: Vec<usize>) -> Result<(), String> {
        let target = self.top()?;
        match &mut self.nodes[target] {
            Node::Dict(entries) if items.len().is_multiple_of(2) => {
                entries.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
                Ok(())
            }
            Node::List(members) => {
                members.extend(items);
                Ok(())
            }
            _ => Err("its pickle fills what is no container".into()),
        }
    }

    fn global(&mut self, module: &str, name: &str) -> Result<(), String> {
        let full = format!("{module}.{name}");
        let known = KNOWN.contains(&full.as_str()) || STORAGES.iter().any(|(storage, _)| *storage == full);
        let idle = IDLE.contains(&full.as_str()) || (module == "torch" && KINDS.contains(&name));
        if !known && !idle {
            let full: String = full.escape_debug().take(80).collect();
            if is_of_module(module) {
                return Err(format!(
                    "it is a pickled module ({full}), which only the program that made it can open: there, save its \
                     weights with model.save_pretrained(FOLDER) or torch.save(model.state_dict(), FILE)"
                ));
            }
            return Err(format!("it asks for {full}, which is no tensor: such a file can run code, and is not opened"));
        }
        self.push(Node::Global(full))
    }

    /// One instruction; true at the end of the pickle.
    pub fn step(&mut self) -> Result<bool, String> {
        let code = self.take(1)?[0];
        match code {
            b'.' => return Ok(true),
            0x80 => {
                let protocol = self.little(1)?;
                if protocol > 5 {
                    return Err(format!("its pickle is of protocol {protocol}, and 5 is the last one known"));
                }
            }
            0x95 => {
                self.take(8)?; // the length of a frame, which is of no use here
            }
            b'(' => self.stack.push(Item::Mark),
            b'0' => {
                self.stack.pop();
            }
            b'1' => {
                self.marked()?;
            }
            b'2' => {
                let node = self.top()?;
                self.stack.push(Item::Node(node));
            }
            b'N' => self.push(Node::None)?,
            0x88 => self.push(Node::Bool(true))?,
            0x89 => self.push(Node::Bool(false))?,
            b'K' => {
                let number = self.little(1)?;
                self.push(Node::Int(number as i64))?;
            }
            b'M' => {
                let number = self.little(2)?;
                self.push(Node::Int(number as i64))?;
            }
            b'J' => {
                let number = self.little(4)? as u32 as i32;
                self.push(Node::Int(i64::from(number)))?;
            }
            0x8a => {
                let length = self.little(1)? as usize;
                let number = long(self.take(length)?);
                self.push(number)?;
            }
            b'G' => {
                let bytes = self.take(8)?;
                let number = bytes.iter().fold(0u64, |number, byte| (number << 8) | u64::from(*byte));
                self.push(Node::Number(f64::from_bits(number).to_string()))?;
            }
            b'X' => {
                let length = self.little(4)?;
                let text = self.string(length)?;
                self.push(text)?;
            }
            0x8c | b'U' => {
                let length = self.little(1)?;
                let text = self.string(length)?;
                self.push(text)?;
            }
            0x8d => {
                let length = self.little(8)?;
                let text = self.string(length)?;
                self.push(text)?;
            }
            b'T' => {
                let length = self.little(4)?;
                let text = self.string(length)?;
                self.push(text)?;
            }
            b'}' => self.push(Node::Dict(Vec::new()))?,
            b']' => self.push(Node::List(Vec::new()))?,
            b')' => self.push(Node::Tuple(Vec::new()))?,
            b't' => {
                let items = self.marked()?;
                self.push(Node::Tuple(items))?;
            }
            b'l' => {
                let items = self.marked()?;
                self.push(Node::List(items))?;
            }
            0x85..=0x87 => self.tuple(usize::from(code - 0x84))?,
            b'q' => {
                let key = self.little(1)? as u32;
                self.remember(key)?;
            }
            b'r' => {
                let key = self.little(4)? as u32;
                self.remember(key)?;
            }
            0x94 => self.remember(self.memo.len() as u32)?,
            b'h' => {
                let key = self.little(1)? as u32;
                self.recall(key)?;
            }
            b'j' => {
                let key = self.little(4)? as u32;
                self.recall(key)?;
            }
            b'u' | b'e' => {
                let items = self.marked()?;
                self.fill(items)?;
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.fill(vec![key, value])?;
            }
            b'a' => {
                let item = self.pop()?;
                self.fill(vec![item])?;
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.global(&module, &name)?;
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (self.nodes[module].clone(), self.nodes[name].clone()) {
                    (Node::Text(module), Node::Text(name)) => self.global(&module, &name)?,
                    _ => return Err("its pickle names a function by what is no text".into()),
                }
            }
            b'Q' => {
                let id = self.pop()?;
                self.persistent(id)?;
            }
            b'R' => {
                let (arguments, function) = (self.pop()?, self.pop()?);
                self.rebuild(function, arguments)?;
            }
            // An object of a class.
            0x81 => {
                let (arguments, class) = (self.pop()?, self.pop()?);
                self.rebuild(class, arguments)?;
            }
            b'C' => {
                let length = self.little(1)? as usize;
                self.idle_bytes(length)?;
            }
            b'B' => {
                let length = self.little(4)? as usize;
                self.idle_bytes(length)?;
            }
            0x8b => {
                let length = self.little(4)? as usize;
                let number = long(self.take(length)?);
                self.push(number)?;
            }
            // A set, its members, and one that does not change.
            0x8f => self.push(Node::List(Vec::new()))?,
            0x90 => {
                let items = self.marked()?;
                self.fill(items)?;
            }
            0x91 => {
                let items = self.marked()?;
                self.push(Node::Tuple(items))?;
            }
            // Sets attributes of an object, such as the versions that a dictionary of tensors carries: none is needed.
            b'b' => {
                self.pop()?;
                self.top()?;
            }
            other => return Err(format!("its pickle has an instruction ({other:#04x}) that no tensor needs")),
        }
        Ok(false)
    }

    /// Bytes that nothing needs.
    fn idle_bytes(&mut self, length: usize) -> Result<(), String> {
        self.take(length)?;
        self.push(Node::None)
    }

    /// A storage: `('storage', kind, key, place, how many)`.
    fn persistent(&mut self, id: usize) -> Result<(), String> {
        let bad = || "it refers to a storage in an unknown way".to_owned();
        let Node::Tuple(parts) = &self.nodes[id] else { return Err(bad()) };
        let [what, kind, key, ..] = parts.as_slice() else { return Err(bad()) };
        let (what, kind, key) = (&self.nodes[*what], &self.nodes[*kind], &self.nodes[*key]);
        let (Node::Text(what), Node::Global(kind), Node::Text(key)) = (what, kind, key) else { return Err(bad()) };
        let dtype = STORAGES.iter().find(|(name, _)| name == kind).map(|(_, dtype)| *dtype);
        let storage = Storage { key: key.clone(), dtype: dtype.filter(|_| what == "storage").ok_or_else(bad)? };
        self.storages.push(storage);
        self.push(Node::Storage(self.storages.len() - 1))
    }

    /// What a known function would make of its arguments.
    fn rebuild(&mut self, function: usize, arguments: usize) -> Result<(), String> {
        let bad = |what: &str| format!("its pickle puts a {what} together in an unknown way");
        let Node::Global(name) = &self.nodes[function] else { return Err(bad("value")) };
        let Node::Tuple(arguments) = &self.nodes[arguments] else { return Err(bad("value")) };
        match (name.as_str(), arguments.as_slice()) {
            (DICT, []) => self.push(Node::Dict(Vec::new())),
            // A dictionary from a list of pairs, as early protocols wrote it.
            (DICT, [pairs]) => {
                let Node::List(pairs) = &self.nodes[*pairs] else { return Err(bad("dictionary")) };
                let pair = |pair: &usize| match &self.nodes[*pair] {
                    Node::Tuple(items) | Node::List(items) if items.len() == 2 => Some((items[0], items[1])),
                    _ => None,
                };
                let entries: Option<Vec<(usize, usize)>> = pairs.iter().map(pair).collect();
                let entries = entries.ok_or_else(|| bad("dictionary"))?;
                self.push(Node::Dict(entries))
            }
            (TENSOR | OLD_TENSOR, [storage, offset, shape, strides, ..]) => {
                let Node::Storage(storage) = self.nodes[*storage] else { return Err(bad("tensor")) };
                let size = |node: &Node| match node {
                    Node::Int(number) => usize::try_from(*number).ok(),
                    _ => None,
                };
                let sizes = |node: usize| match &self.nodes[node] {
                    Node::Tuple(items) => items.iter().map(|item| size(&self.nodes[*item])).collect::<Option<Vec<_>>>(),
                    _ => None,
                };
                let offset = size(&self.nodes[*offset]).ok_or_else(|| bad("tensor"))?;
                let (shape, strides) = sizes(*shape).zip(sizes(*strides)).ok_or_else(|| bad("tensor"))?;
                if shape.len() != strides.len() || shape.len() > 8 {
                    return Err(bad("tensor"));
                }
                self.push(Node::Tensor { storage, offset, shape, strides })
            }
            (OF_TYPE, [function, _, arguments, ..]) => {
                let (function, arguments) = (*function, *arguments);
                // Not itself again: a chain of such would go down as far as the file likes.
                match &self.nodes[function] {
                    Node::Global(name) if name != OF_TYPE => self.rebuild(function, arguments),
                    _ => Err(bad("tensor")),
                }
            }
            (name, _) if IDLE.contains(&name) => self.push(Node::Dict(Vec::new())),
            (PARAMETER | PARAMETER_WITH_STATE, [tensor, ..]) => {
                let tensor = *tensor;
                self.stack.push(Item::Node(tensor));
                Ok(())
            }
            _ => Err(bad("value")),
        }
    }
}

/// Whether a class of this Python module is, by all signs, that of a model.
fn is_of_module(module: &str) -> bool {
    let of_library = ["torch.nn.", "torch.fx.", "__torch__", "transformers.", "sentence_transformers.", "peft."];
    let lower = module.to_lowercase();
    module == "__main__"
        || of_library.iter().any(|library| module.starts_with(library))
        || lower.split(['.', '_']).any(|word| word.starts_with("model") || word == "net" || word.starts_with("bert"))
}

/// A whole number of any length, little-endian with a sign.
pub(super) fn long(bytes: &[u8]) -> Node {
    if bytes.len() <= 8 {
        let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
        let fill = if negative { 0xff } else { 0 };
        let mut whole = [fill; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        return Node::Int(i64::from_le_bytes(whole));
    }
    // The magic number of old files is the only one that is looked at.
    let bytes = bytes.get(..16).unwrap_or(bytes);
    let number = bytes.iter().rev().fold(0u128, |number, byte| (number << 8) | u128::from(*byte));
    Node::Number(number.to_string())
}
