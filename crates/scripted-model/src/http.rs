//! The part of HTTP that a client needs: one request and one response per connection.

use std::io::{self, BufRead, Read, Write};

/// The maximum length of a request body; a conversation with many tools is far shorter.
const LONGEST_BODY: u64 = 64 * 1024 * 1024;

/// A received request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

/// A response to send.
pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: &'a str,
    pub(crate) headers: &'a [(&'a str, String)],
    pub(crate) body: &'a str,
}

/// Reads one request; `None` if the connection was closed before it began.
pub(crate) fn receive(reader: &mut impl BufRead) -> io::Result<Option<Received>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(io::Error::other(format!("not a request line: {line:?}")));
    };
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(io::Error::other("a body without a length is not understood"));
        }
    }
    if length > LONGEST_BODY {
        return Err(io::Error::other(format!("a body of {length} bytes is too long")));
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    Ok(Some(Received { method, path, body }))
}

/// Sends one response and announces that the connection will be closed.
pub(crate) fn respond(writer: &mut impl Write, response: &Response<'_>) -> io::Result<()> {
    let Response { status, content_type, headers, body } = response;
    let mut text = format!(
        "HTTP/1.1 {status} scripted\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\
         connection: close\r\n",
        body.len()
    );
    for (name, value) in *headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    writer.write_all(text.as_bytes())?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_refused() {
        for sent in ["nonsense\r\n\r\n", "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"] {
            assert!(receive(&mut sent.as_bytes()).is_err(), "{sent:?}");
        }
    }
}
