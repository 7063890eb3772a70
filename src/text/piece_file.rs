//! The parts of a SentencePiece model file (a protocol buffer, `sentencepiece_model.proto`) that a tokenizer needs.

/// What of a model file is needed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Pieces {
    /// Each piece with its score: the logarithm of its probability.
    pub(super) pieces: Vec<(String, f32)>,
    /// How characters are normalised first.
    pub(super) charsmap: Vec<u8>,
    /// 1 is Unigram, 2 BPE.
    pub(super) kind: u64,
}

impl Pieces {
    /// Reads the parts of a model file (a protocol buffer) that are needed, and skips the rest.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut model = Self { kind: 1, ..Self::default() };
        let mut fields = Fields(bytes);
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (1, Field::Bytes(piece)) => {
                    let (mut text, mut score) = (String::new(), 0.0);
                    let mut fields = Fields(piece);
                    while let Some((number, value)) = fields.next()? {
                        match (number, value) {
                            (1, Field::Bytes(own)) => text = String::from_utf8_lossy(own).into_owned(),
                            (2, Field::Four(own)) => score = f32::from_le_bytes(own),
                            _ => {}
                        }
                    }
                    model.pieces.push((text, if score.is_finite() { score } else { 0.0 }));
                }
                (2, Field::Bytes(trainer)) => {
                    let mut fields = Fields(trainer);
                    while let Some((number, value)) = fields.next()? {
                        if let (3, Field::Number(kind)) = (number, value) {
                            model.kind = kind;
                        }
                    }
                }
                (3, Field::Bytes(normalizer)) => {
                    let mut fields = Fields(normalizer);
                    while let Some((number, value)) = fields.next()? {
                        if let (2, Field::Bytes(map)) = (number, value) {
                            model.charsmap = map.to_vec();
                        }
                    }
                }
                _ => {}
            }
        }
        if model.pieces.is_empty() { Err("it is no SentencePiece model: it has no pieces".into()) } else { Ok(model) }
    }
}

/// A protocol buffer's fields, one after the other.
struct Fields<'a>(&'a [u8]);

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Four([u8; 4]),
    Other,
}

impl<'a> Fields<'a> {
    fn next(&mut self) -> Result<Option<(u64, Field<'a>)>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.number()?;
        let value = match key & 7 {
            0 => Field::Number(self.number()?),
            1 => {
                self.take(8)?;
                Field::Other
            }
            2 => {
                let length = self.number()?;
                Field::Bytes(self.take(usize::try_from(length).unwrap_or(usize::MAX))?)
            }
            5 => {
                let bytes = self.take(4)?;
                Field::Four([bytes[0], bytes[1], bytes[2], bytes[3]])
            }
            other => return Err(format!("it is no SentencePiece model: a field of kind {other}")),
        };
        Ok(Some((key >> 3, value)))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let taken = self.0.get(..count).ok_or("it is no whole SentencePiece model")?;
        self.0 = &self.0[count..];
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for at in 0..10 {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f).checked_shl(7 * at).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("it is no SentencePiece model: a number without an end".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_model_gives_a_sentence() {
        for bytes in [&b""[..], b"\x0a", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0f", b"text"] {
            assert!(Pieces::read(bytes).unwrap_err().contains("SentencePiece model"), "{bytes:?}");
        }
        let model = Pieces::read(b"\x0a\x08\x0a\x01a\x15\0\0\x80\xbf\x12\x02\x18\x02").unwrap();
        assert_eq!(model, Pieces { pieces: vec![("a".into(), -1.0)], charsmap: Vec::new(), kind: 2 });
    }
}
