//! Small pages over HTTP from the test itself, for tests of the tools.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

/// A page: its path, its content security policy and its HTML.
pub type Page = (&'static str, &'static str, &'static str);

/// Serves `pages` for as long as the test process lives and returns the address.
pub fn serve(pages: &'static [Page]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A browser opens connections that it does not use, so each has a thread.
            std::thread::spawn(move || answer(stream, pages));
        }
    });
    address
}

fn answer(mut stream: TcpStream, pages: &[Page]) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let found = pages.iter().find(|page| page.0 == path);
    let (status, policy, html) = match found {
        Some((_, policy, html)) => ("200 OK", *policy, *html),
        // No page here names an icon, and browsers ask for one all the same.
        None if path == "/favicon.ico" => ("204 No Content", "", ""),
        None => ("404 Not Found", "", "nothing here"),
    };
    let policy = match policy {
        "" => String::new(),
        policy => format!("Content-Security-Policy: {policy}\r\n"),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n{policy}\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        html.len()
    );
    // A browser that has gone away needs no answer.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(html.as_bytes()));
}
