//! The pickle of a state dictionary, recognised and not executed.
//!
//! A pickle is a program for a stack machine that may import and call anything; that is why nobody should load a
//! stranger's. PyTorch's weights need only a handful of its instructions and four callables, and these are all
//! that this machine knows: it builds a dictionary of names and tensor descriptions, and refuses the rest by name.
//! Values live in tables and refer to each other by number, so that no file can make it recurse.

use std::collections::HashMap;

use super::WAY_OUT;
use super::reader::{Reader, utf8};
use crate::model::checkpoint::Dtype;
use crate::model::checkpoint::source::{MOST_AXES, check_name};

/// A tensor: a view of numbers in a storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored<'a> {
    pub(super) dtype: Dtype,
    /// The storage's name: `data/KEY` in the zip file.
    pub(super) key: &'a str,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

/// The named tensors of a pickled state dictionary, in its order.
pub(super) fn state_dict(pickle: &[u8]) -> Result<Vec<(&str, Stored<'_>)>, String> {
    let mut machine = Machine::default();
    let Value::Dict(dict) = machine.run(&mut Reader::new(pickle, 0))? else {
        return Err(format!("it holds no dictionary of tensors; {WAY_OUT}"));
    };
    let mut named = Vec::new();
    for &(key, value) in &machine.dicts[dict] {
        // Other entries (numbers, settings) are no weights.
        if let (Value::Str(name), Value::Tensor(tensor)) = (key, value) {
            check_name(name)?;
            named.push((name, machine.tensors[tensor].clone()));
        }
    }
    if named.is_empty() {
        return Err(format!("it holds no tensors; {WAY_OUT}"));
    }
    Ok(named)
}

/// What the stack holds.
#[derive(Debug, Clone, Copy)]
enum Value<'a> {
    /// None, true, false and floats: nothing here depends on them.
    Plain,
    Int(i64),
    Str(&'a str),
    /// A tuple or a list, by its number.
    List(usize),
    Dict(usize),
    Global(Global),
    /// A storage: its type and its key.
    Storage(Dtype, &'a str),
    /// A tensor, by its number.
    Tensor(usize),
}

/// What a state dictionary may name.
#[derive(Debug, Clone, Copy)]
enum Global {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Storage(Dtype),
}

impl Global {
    fn find(module: &str, name: &str) -> Result<Self, String> {
        match (module, name) {
            ("collections", "OrderedDict") => Some(Self::OrderedDict),
            ("torch._utils", "_rebuild_tensor_v2") => Some(Self::RebuildTensor),
            ("torch._utils", "_rebuild_parameter") => Some(Self::RebuildParameter),
            ("torch", storage) => storage_type(storage).map(Self::Storage),
            _ => None,
        }
        .ok_or_else(|| {
            format!("it would import {module}.{name}, which is not needed for weights, so it is refused; {WAY_OUT}")
        })
    }
}

fn storage_type(name: &str) -> Option<Dtype> {
    Some(match name {
        "FloatStorage" => Dtype::F32,
        "HalfStorage" => Dtype::F16,
        "BFloat16Storage" => Dtype::Bf16,
        "DoubleStorage" => Dtype::F64,
        "LongStorage" => Dtype::Other("I64", 8),
        "IntStorage" => Dtype::Other("I32", 4),
        "ShortStorage" => Dtype::Other("I16", 2),
        "CharStorage" => Dtype::Other("I8", 1),
        "ByteStorage" => Dtype::Other("U8", 1),
        "BoolStorage" => Dtype::Other("BOOL", 1),
        _ => return None,
    })
}

#[derive(Default)]
struct Machine<'a> {
    stack: Vec<Value<'a>>,
    /// Where on the stack the open groups begin.
    marks: Vec<usize>,
    memo: HashMap<usize, Value<'a>>,
    lists: Vec<Vec<Value<'a>>>,
    dicts: Vec<Vec<(Value<'a>, Value<'a>)>>,
    tensors: Vec<Stored<'a>>,
}

impl<'a> Machine<'a> {
    fn run(&mut self, code: &mut Reader<'a>) -> Result<Value<'a>, String> {
        loop {
            let at = code.at();
            let opcode = code.u8()?;
            if opcode == b'.' {
                return self.pop();
            }
            self.step(opcode, code).map_err(|problem| format!("byte {at}: {problem}"))?;
        }
    }

    /// One instruction. The letters are pickle's own; see `pickletools` in Python's library.
    fn step(&mut self, opcode: u8, code: &mut Reader<'a>) -> Result<(), String> {
        match opcode {
            0x80 => drop(code.u8()?),                                      // PROTO
            0x95 => drop(code.u64()?),                                     // FRAME
            b'(' => self.marks.push(self.stack.len()),                     // MARK
            b'N' | 0x88 | 0x89 => self.stack.push(Value::Plain),           // NONE, NEWTRUE, NEWFALSE
            b'G' => code.take(8).map(|_| self.stack.push(Value::Plain))?,  // BINFLOAT
            b'K' => self.int(code.u8()?.into()),                           // BININT1
            b'M' => self.int(code.u16()?.into()),                          // BININT2
            b'J' => self.int(code.i32()?.into()),                          // BININT
            0x8a => self.long(code)?,                                      // LONG1
            b'X' => code.u32().and_then(|n| self.text(code, n as usize))?, // BINUNICODE
            0x8c => code.u8().and_then(|n| self.text(code, n.into()))?,    // SHORT_BINUNICODE
            b')' => self.list(Vec::new()),                                 // EMPTY_TUPLE
            b']' => self.list(Vec::new()),                                 // EMPTY_LIST
            b't' => self.pop_group().map(|items| self.list(items))?,       // TUPLE
            0x85..=0x87 => self.short_tuple(usize::from(opcode - 0x84))?,  // TUPLE1 to TUPLE3
            b'}' => self.dict(),                                           // EMPTY_DICT
            b'q' => self.remember(code.u8()?.into())?,                     // BINPUT
            b'r' => self.remember(code.u32()? as usize)?,                  // LONG_BINPUT
            0x94 => self.remember(self.memo.len())?,                       // MEMOIZE
            b'h' => self.recall(code.u8()?.into())?,                       // BINGET
            b'j' => self.recall(code.u32()? as usize)?,                    // LONG_BINGET
            b'c' => self.global(code.line()?, code.line()?)?,              // GLOBAL
            0x93 => self.stack_global()?,                                  // STACK_GLOBAL
            b's' => self.set_item()?,                                      // SETITEM
            b'u' => self.set_items()?,                                     // SETITEMS
            b'a' => self.append()?,                                        // APPEND
            b'e' => self.appends()?,                                       // APPENDS
            b'Q' => self.storage()?,                                       // BINPERSID
            b'R' => self.call()?,                                          // REDUCE
            b'b' => self.build()?,                                         // BUILD
            _ => return Err(refused(opcode)),
        }
        Ok(())
    }

    fn pop(&mut self) -> Result<Value<'a>, String> {
        // What lies below an open mark is out of reach, as in Python.
        let floor = self.marks.last().copied().unwrap_or(0);
        let value = if self.stack.len() > floor { self.stack.pop() } else { None };
        value.ok_or_else(|| "the stack is empty: the pickle is damaged".into())
    }

    /// The values since the last mark.
    fn pop_group(&mut self) -> Result<Vec<Value<'a>>, String> {
        let mark = self.marks.pop().ok_or("no mark is open: the pickle is damaged")?;
        Ok(self.stack.split_off(mark))
    }

    fn int(&mut self, value: i64) {
        self.stack.push(Value::Int(value));
    }

    /// A whole number of up to eight bytes in two's complement.
    fn long(&mut self, code: &mut Reader<'a>) -> Result<(), String> {
        let count = code.u8()?;
        let bytes = code.take(count.into())?;
        if bytes.len() > 8 {
            return Err(format!("a number of {count} bytes, expected at most 8"));
        }
        let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut wide = [if negative { 0xff } else { 0 }; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        self.int(i64::from_le_bytes(wide));
        Ok(())
    }

    fn text(&mut self, code: &mut Reader<'a>, length: usize) -> Result<(), String> {
        self.stack.push(Value::Str(utf8(code.take(length)?)?));
        Ok(())
    }

    fn list(&mut self, items: Vec<Value<'a>>) {
        self.stack.push(Value::List(self.lists.len()));
        self.lists.push(items);
    }

    fn short_tuple(&mut self, count: usize) -> Result<(), String> {
        let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
        items.reverse();
        self.list(items);
        Ok(())
    }

    fn dict(&mut self) {
        self.stack.push(Value::Dict(self.dicts.len()));
        self.dicts.push(Vec::new());
    }

    fn remember(&mut self, number: usize) -> Result<(), String> {
        let value = self.pop()?;
        self.memo.insert(number, value);
        self.stack.push(value);
        Ok(())
    }

    fn recall(&mut self, number: usize) -> Result<(), String> {
        let value = self.memo.get(&number).ok_or_else(|| format!("nothing was stored as {number}"))?;
        self.stack.push(*value);
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) -> Result<(), String> {
        self.stack.push(Value::Global(Global::find(module, name)?));
        Ok(())
    }

    fn stack_global(&mut self) -> Result<(), String> {
        match (self.pop()?, self.pop()?) {
            (Value::Str(name), Value::Str(module)) => self.global(module, name),
            _ => Err("a global without a name: the pickle is damaged".into()),
        }
    }

    /// The dictionary on top of the stack.
    fn top_dict(&mut self) -> Result<&mut Vec<(Value<'a>, Value<'a>)>, String> {
        let value = self.pop()?;
        self.stack.push(value);
        match value {
            Value::Dict(number) => Ok(&mut self.dicts[number]),
            _ => Err("an item for something that is no dictionary: the pickle is damaged".into()),
        }
    }

    fn set_item(&mut self) -> Result<(), String> {
        let (value, key) = (self.pop()?, self.pop()?);
        self.top_dict()?.push((key, value));
        Ok(())
    }

    fn set_items(&mut self) -> Result<(), String> {
        let group = self.pop_group()?;
        let (pairs, odd) = group.as_chunks::<2>();
        if !odd.is_empty() {
            return Err("a key without a value: the pickle is damaged".into());
        }
        self.top_dict()?.extend(pairs.iter().map(|&[key, value]| (key, value)));
        Ok(())
    }

    fn top_list(&mut self) -> Result<&mut Vec<Value<'a>>, String> {
        let value = self.pop()?;
        self.stack.push(value);
        match value {
            Value::List(number) => Ok(&mut self.lists[number]),
            _ => Err("an item for something that is no list: the pickle is damaged".into()),
        }
    }

    fn append(&mut self) -> Result<(), String> {
        let item = self.pop()?;
        self.top_list()?.push(item);
        Ok(())
    }

    fn appends(&mut self) -> Result<(), String> {
        let items = self.pop_group()?;
        self.top_list()?.extend(items);
        Ok(())
    }

    /// `("storage", torch.FloatStorage, key, device, count)`; the zip file knows the count better.
    fn storage(&mut self) -> Result<(), String> {
        let value = self.pop()?;
        let &[Value::Str("storage"), Value::Global(Global::Storage(dtype)), Value::Str(key), ..] =
            self.items(value)
        else {
            return Err(format!("a reference to something that is no storage; {WAY_OUT}"));
        };
        self.stack.push(Value::Storage(dtype, key));
        Ok(())
    }

    fn items(&self, value: Value<'a>) -> &[Value<'a>] {
        match value {
            Value::List(number) => &self.lists[number],
            _ => &[],
        }
    }

    fn call(&mut self) -> Result<(), String> {
        let (arguments, function) = (self.pop()?, self.pop()?);
        let arguments = self.items(arguments);
        match (function, arguments) {
            (Value::Global(Global::OrderedDict), []) => self.dict(),
            (Value::Global(Global::RebuildParameter), &[tensor @ Value::Tensor(_), ..]) => {
                self.stack.push(tensor);
            }
            (
                Value::Global(Global::RebuildTensor),
                &[Value::Storage(dtype, key), Value::Int(offset), shape, strides, ..],
            ) => {
                let (shape, strides) = (self.sizes(shape)?, self.sizes(strides)?);
                if shape.len() != strides.len() {
                    return Err(format!("a tensor of shape {shape:?} with strides {strides:?}"));
                }
                let offset = size(Value::Int(offset))?;
                self.stack.push(Value::Tensor(self.tensors.len()));
                self.tensors.push(Stored { dtype, key, offset, shape, strides });
            }
            _ => return Err(format!("a call that is not needed for weights, so it is refused; {WAY_OUT}")),
        }
        Ok(())
    }

    fn sizes(&self, value: Value<'a>) -> Result<Vec<usize>, String> {
        let items = self.items(value);
        // Checked before it is copied: many tensors could share one long list.
        if items.len() > MOST_AXES {
            return Err(format!("a tensor with {} axes, expected at most {MOST_AXES}", items.len()));
        }
        items.iter().map(|&item| size(item)).collect()
    }

    /// The attributes that `state_dict` hangs on its dictionary (`_metadata`): not needed.
    fn build(&mut self) -> Result<(), String> {
        self.pop()?;
        self.top_dict().map(|_| ())
    }
}

fn size(value: Value<'_>) -> Result<usize, String> {
    match value {
        Value::Int(number) => {
            number.try_into().map_err(|_| format!("a size of {number}, expected 0 or more"))
        }
        _ => Err("a size that is no number: the pickle is damaged".into()),
    }
}

fn refused(opcode: u8) -> String {
    let name = match opcode {
        b'i' => "INST",
        b'o' => "OBJ",
        0x81 => "NEWOBJ",
        0x92 => "NEWOBJ_EX",
        0x82..=0x84 => "EXT",
        b'P' => "PERSID",
        _ => "",
    };
    format!("instruction {name}(0x{opcode:02x}) is not needed for weights, so it is refused; {WAY_OUT}")
}
