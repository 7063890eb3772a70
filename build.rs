//! Gives the binaries a run path to libtorch, so that they start without `LD_LIBRARY_PATH`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Told by torch-sys, which is a direct dependency for the sake of this variable.
    println!("cargo:rerun-if-env-changed=DEP_TCH_LIBTORCH_LIB");
    let unix = std::env::var("CARGO_CFG_UNIX").is_ok();
    if let Some(lib) = std::env::var_os("DEP_TCH_LIBTORCH_LIB").filter(|_| unix) {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.to_string_lossy());
    }
}
