//! A screen of its own (Xvfb) with the real program on it, a mouse and a keyboard (xdotool), and a camera (import).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use headlight::figure::Pixels;
use resvg::tiny_skia::{IntSize, Pixmap};

/// What a machine needs for this.
pub const PACKAGES: &str =
    "xvfb xdotool imagemagick libgl1 libgl1-mesa-dri libegl1 libxkbcommon-x11-0 fonts-dejavu-core";

/// Far longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Desktop {
    server: Child,
    display: String,
    size: (u32, u32),
    /// The program's settings and its desktop's runtime files, away from those of the user.
    home: tempfile::TempDir,
}

pub struct Program {
    child: Child,
    window: String,
    /// From the start of the process to its window being on the screen.
    pub opened_after: Duration,
}

impl Desktop {
    /// Starts a screen; the error says what is missing.
    pub fn start(width: u32, height: u32) -> Result<Self, String> {
        for tool in ["Xvfb", "xdotool", "import"] {
            let there = std::env::var_os("PATH")
                .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(tool).is_file()));
            if !there {
                return Err(format!(
                    "{tool} is not installed; `sudo apt install {PACKAGES}` brings all that is needed"
                ));
            }
        }
        // The server picks a free number and writes it to its standard output. It must not reset itself, as it would
        // whenever its last client goes: a client that comes just then is turned away.
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-noreset", "-nolisten", "tcp", "-screen", "0", &format!("{width}x{height}x24")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("Xvfb could not be started: {error}"))?;
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).map_err(|error| error.to_string())?;
        let display = format!(":{}", number.trim());
        let home = tempfile::tempdir().unwrap();
        // The tour was taken already: it would stand before the pictures.
        let settings = home.path().join("headlight");
        std::fs::create_dir_all(&settings).unwrap();
        std::fs::write(settings.join("app.ron"), r#"{"tour seen": "yes"}"#).unwrap();
        Ok(Self { server, display, size: (width, height), home })
    }

    /// Starts the program and waits for its window, which then fills the screen.
    pub fn open(&self, arguments: &[&str]) -> Result<Program, String> {
        let start = Instant::now();
        let mut child = self
            .on_display(env!("CARGO_BIN_EXE_headlight"))
            .args(arguments)
            .env("XDG_DATA_HOME", self.home.path())
            .env("XDG_CONFIG_HOME", self.home.path())
            .env("XDG_RUNTIME_DIR", self.home.path())
            .env_remove("WAYLAND_DISPLAY")
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let window = loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                let output = child.wait_with_output().map_err(|error| error.to_string())?;
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                return Err(format!("the program ended with {status}: {said}; it may want the packages {PACKAGES}"));
            }
            let found = self.xdotool(&["search", "--onlyvisible", "--name", "^Headlight$"]);
            if let Some(window) = found.lines().next() {
                break window.to_owned();
            }
            assert!(start.elapsed() < PATIENCE, "no window came");
            std::thread::sleep(Duration::from_millis(10));
        };
        let opened_after = start.elapsed();
        self.xdotool(&["windowmove", &window, "0", "0"]);
        self.xdotool(&["windowsize", &window, &self.size.0.to_string(), &self.size.1.to_string()]);
        // There is no window manager to give it the keyboard.
        self.xdotool(&["windowfocus", &window]);
        Ok(Program { child, window, opened_after })
    }

    /// Moves the mouse, clicks, types.
    pub fn xdotool(&self, arguments: &[&str]) -> String {
        let output = self.on_display("xdotool").args(arguments).stderr(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn click(&self, x: u32, y: u32) {
        self.xdotool(&["mousemove", &x.to_string(), &y.to_string(), "click", "1"]);
    }

    pub fn type_text(&self, program: &Program, text: &str) {
        self.xdotool(&["type", "--window", &program.window, "--delay", "20", text]);
    }

    /// What is on the screen.
    pub fn look(&self) -> Pixels {
        let output = self.on_display("import").args(["-window", "root", "png:-"]).output().unwrap();
        assert!(output.status.success(), "import failed: {}", String::from_utf8_lossy(&output.stderr));
        let pixmap = Pixmap::decode_png(&output.stdout).unwrap();
        Pixels { width: pixmap.width() as usize, height: pixmap.height() as usize, rgba: pixmap.take() }
    }

    /// Looks until `seen` finds what it is after; the last look if it never does.
    pub fn wait_for<T>(&self, mut seen: impl FnMut(&Pixels) -> Option<T>) -> Result<T, Pixels> {
        let start = Instant::now();
        loop {
            let screen = self.look();
            match seen(&screen) {
                Some(found) => return Ok(found),
                None if start.elapsed() > PATIENCE => return Err(screen),
                None => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }

    /// Waits until the screen stands still, and keeps it as a PNG file.
    pub fn photograph(&self, path: &Path) {
        let mut last: Option<Pixels> = None;
        let still = self.wait_for(|screen| {
            let same = last.as_ref() == Some(screen);
            last = Some(screen.clone());
            same.then(|| screen.clone())
        });
        save(still.unwrap_or_else(|last| last), path);
    }

    fn on_display(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("DISPLAY", &self.display);
        command
    }
}

/// Keeps what was on the screen as a PNG file.
pub fn save(screen: Pixels, path: &Path) {
    let size = IntSize::from_wh(screen.width as u32, screen.height as u32).unwrap();
    Pixmap::from_vec(screen.rgba, size).unwrap().save_png(path).unwrap();
}

impl Program {
    /// Ends the program and gives what it wrote to standard error.
    pub fn close(mut self) -> String {
        self.child.kill().ok();
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            std::io::Read::read_to_string(&mut stderr, &mut said).ok();
        }
        said
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

/// A desktop with the program on it; without what that needs, the test says so and is skipped. On a build machine
/// (`CI=true`) it fails instead.
pub fn with_program(size: (u32, u32), arguments: &[&str]) -> Option<(Desktop, Program)> {
    let started = Desktop::start(size.0, size.1).and_then(|desktop| {
        let program = desktop.open(arguments)?;
        Ok((desktop, program))
    });
    match started {
        Ok(both) => Some(both),
        Err(missing) if crate::support::on_ci() => panic!("CI must be able to open the window: {missing}"),
        Err(missing) => {
            eprintln!("skipped: {missing}");
            None
        }
    }
}
