use std::process::ExitCode;

use benches::cli;

fn main() -> ExitCode {
    let matches = cli::command().get_matches();
    match cli::run(&matches, &mut std::io::stdout().lock()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
