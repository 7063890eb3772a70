#![no_main]

#[path = "../feed.rs"]
#[allow(dead_code)] // each target feeds one kind of file
mod feed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = feed::tokenizer(bytes);
});
