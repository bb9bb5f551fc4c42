//! `http://host:port/path`, taken apart.

use std::io;

/// An address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// Whether it begins with `https`.
    pub(super) is_secure: bool,
    /// Without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
    /// With its query, and a slash in front.
    pub(super) path: String,
}

impl Address {
    /// Takes an address apart.
    ///
    /// # Errors
    /// `InvalidInput` for what is neither HTTP nor HTTPS, or names a user.
    pub(super) fn parse(url: &str) -> io::Result<Self> {
        let refuse = || io::Error::new(io::ErrorKind::InvalidInput, format!("`{url}` is no address of the web"));
        let (scheme, rest) = url.split_once("://").ok_or_else(refuse)?;
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(refuse()),
        };
        let rest = rest.split('#').next().unwrap_or(rest);
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (host, port) = match authority.strip_prefix('[') {
            Some(literal) => literal.split_once(']').ok_or_else(refuse)?,
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().map_err(|_| refuse())?,
            None if port.is_empty() => {
                if is_secure {
                    443
                } else {
                    80
                }
            }
            None => return Err(refuse()),
        };
        let is_written = |c: char| c.is_ascii_graphic();
        if host.is_empty() || !url.chars().all(is_written) || authority.contains('@') {
            return Err(refuse());
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self { is_secure, host: host.to_owned(), port, path: format!("{slash}{path}") })
    }

    /// What a redirection from here means.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub(super) fn join(&self, location: &str) -> io::Result<Self> {
        let scheme = if self.is_secure { "https" } else { "http" };
        if location.contains("://") {
            Self::parse(location)
        } else if let Some(rest) = location.strip_prefix("//") {
            Self::parse(&format!("{scheme}://{rest}"))
        } else if location.starts_with('/') {
            Self::parse(&format!("{scheme}://{}{location}", self.authority()))
        } else {
            let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            Self::parse(&format!("{scheme}://{}{folder}/{location}", self.authority()))
        }
    }

    /// Host and port as the request names them.
    pub(super) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let usual = if self.is_secure { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(url: &str) -> Option<(bool, String, u16, String)> {
        Address::parse(url).ok().map(|address| (address.is_secure, address.host, address.port, address.path))
    }

    #[test]
    fn an_address_is_taken_apart() {
        let cases = [
            ("http://a.example/b/c.tgz?d=1#e", (false, "a.example", 80, "/b/c.tgz?d=1")),
            ("HTTPS://a.example", (true, "a.example", 443, "/")),
            ("http://127.0.0.1:8080/x", (false, "127.0.0.1", 8080, "/x")),
            ("https://[::1]:7/x", (true, "::1", 7, "/x")),
            ("http://a.example?q", (false, "a.example", 80, "/?q")),
        ];
        for (url, (is_secure, host, port, path)) in cases {
            assert_eq!(parts(url), Some((is_secure, host.to_owned(), port, path.to_owned())), "{url}");
        }
        for url in
            ["ftp://a/b", "a.example/b", "http:///b", "http://a:b/c", "http://u@a/b", "http://a/b c", "http://[::1/"]
        {
            assert_eq!(parts(url), None, "{url}");
        }
    }

    #[test]
    fn a_redirection_is_read_from_where_it_came() {
        let from = Address::parse("http://a.example:81/b/c.tgz").unwrap();
        for (location, url) in [
            ("https://d.example/e", "https://d.example/e"),
            ("//d.example/e", "http://d.example/e"),
            ("/e", "http://a.example:81/e"),
            ("e", "http://a.example:81/b/e"),
        ] {
            assert_eq!(from.join(location).unwrap(), Address::parse(url).unwrap(), "{location}");
        }
    }
}
