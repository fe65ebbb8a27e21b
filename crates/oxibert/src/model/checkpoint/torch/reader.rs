//! A cursor over bytes that may end too early.

/// Reads little-endian numbers and slices, front to back.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Starts at byte `at`, which may lie beyond the end: then there is nothing to read.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// How many bytes have been passed.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| format!("it ends too early ({count} bytes at {})", self.at))?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8, String> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, String> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, String> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, String> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number that counts or places bytes in memory.
    pub(super) fn size(&mut self) -> Result<usize, String> {
        let size = self.u64()?;
        size.try_into().map_err(|_| format!("{size} bytes are more than any memory holds"))
    }

    /// Text up to the next newline, which is passed over.
    pub(super) fn line(&mut self) -> Result<&'a str, String> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest).ok_or("it ends too early (a line without an end)")?;
        let line = utf8(self.take(length)?)?;
        self.take(1)?;
        Ok(line)
    }
}

/// Bytes as text.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, String> {
    let shown = || bytes[..bytes.len().min(60)].escape_ascii();
    std::str::from_utf8(bytes).map_err(|_| format!("\"{}\" is not UTF-8", shown()))
}
