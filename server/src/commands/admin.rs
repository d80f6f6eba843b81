//! `myriad admin`: requests to a running server over its control socket.

use std::path::PathBuf;
use std::time::Duration;

use accounts::bans::Banned;
use accounts::identity::Account;
use accounts::network::Network;
use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use console::admin::port::ask;
use console::admin::request::{Client, ListedClient, Request, Response};
use program::printable::OneLine;
use program::say;

use super::arguments::span;

#[derive(Debug, Args)]
pub struct AdminArguments {
    /// Control socket of the server: the path that `myriad serve --admin` has
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    request: AdminRequest,
}

#[derive(Debug, Subcommand)]
enum AdminRequest {
    /// List the clients: account, name, entity, address and link
    List,
    /// Disconnect a client; it may come back
    Kick {
        #[command(flatten)]
        whom: ClientArguments,
        /// Reason that is sent to the client
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Disconnect an account or a network, and refuse it for a time
    Ban {
        #[command(flatten)]
        whom: BannedArguments,
        /// How long: 90s, 30m, 12h or 7d
        #[arg(long = "for", value_name = "SPAN", value_parser = span)]
        span: Duration,
        /// Reason that is sent to the client
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// End a ban early
    Unban {
        #[command(flatten)]
        whom: BannedArguments,
    },
    /// List the bans
    Bans,
    /// Delete the character of an account, and disconnect its client
    Forget {
        /// The account
        #[arg(long)]
        account: String,
    },
    /// Send a message to a client, or to all
    Tell {
        /// Text of the message
        text: String,
        #[command(flatten)]
        whom: ClientArguments,
        /// To all clients
        #[arg(long, conflicts_with_all = ["account", "name", "number"])]
        all: bool,
    },
    /// Print figures since the server's start
    Stats,
}

/// A client.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct ClientArguments {
    /// The client of this account
    #[arg(long)]
    account: Option<String>,
    /// The client whose player has this name
    #[arg(long)]
    name: Option<String>,
    /// The client of this number in the list
    #[arg(long)]
    number: Option<u32>,
}

/// The account or network to ban.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct BannedArguments {
    /// This account
    #[arg(long)]
    account: Option<String>,
    /// An address or a network, as in 10.1.0.0/16
    #[arg(long)]
    network: Option<Network>,
}

/// Sends the request, and prints the response.
pub fn run(arguments: AdminArguments) -> Result<()> {
    let request = request_of(arguments.request)?;
    let answer = ask(&arguments.socket, &request)?;
    if arguments.json {
        say!("{}", serde_json::to_string(&answer)?);
    }
    match answer {
        Response::Error(reason) => bail!("{reason}"),
        _ if arguments.json => {}
        Response::Clients(clients) => clients
            .iter()
            .for_each(|client| say!("{}", OneLine(&line_of(client)))),
        Response::Bans(bans) => {
            for ban in bans {
                say!(
                    "{} until {} (seconds since 1970) {}",
                    OneLine(&ban.whom.to_string()),
                    ban.until,
                    OneLine(&ban.reason)
                );
            }
        }
        Response::Done { clients } => say!("done, {clients} clients concerned"),
        Response::Stats(stats) => {
            for (name, figure) in stats {
                say!("{name} {figure}");
            }
        }
    }
    Ok(())
}

fn request_of(request: AdminRequest) -> Result<Request> {
    Ok(match request {
        AdminRequest::List => Request::List,
        AdminRequest::Kick { whom, reason } => Request::Kick {
            whom: client_of(whom)
                .ok_or_else(|| anyhow!("expected --account, --name or --number"))?,
            reason,
        },
        AdminRequest::Ban { whom, span, reason } => Request::Ban {
            whom: banned_of(whom)?,
            seconds: span.as_secs(),
            reason,
        },
        AdminRequest::Unban { whom } => Request::Unban {
            whom: banned_of(whom)?,
        },
        AdminRequest::Bans => Request::Bans,
        AdminRequest::Forget { account } => Request::Forget { account },
        AdminRequest::Tell { text, whom, all } => match client_of(whom) {
            None if !all => bail!("expected --account, --name, --number or --all"),
            whom => Request::Tell { whom, text },
        },
        AdminRequest::Stats => Request::Stats,
    })
}

fn client_of(arguments: ClientArguments) -> Option<Client> {
    let account = arguments.account.map(Client::Account);
    let name = arguments.name.map(Client::Name);
    account.or(name).or(arguments.number.map(Client::Number))
}

fn banned_of(arguments: BannedArguments) -> Result<Banned> {
    match (arguments.account, arguments.network) {
        (Some(account), _) => Ok(Banned::Account(Account::new(account)?)),
        (None, Some(network)) => Ok(Banned::Network(network)),
        (None, None) => bail!("expected --account or --network"),
    }
}

fn line_of(client: &ListedClient) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let entity = match client.entity {
        Some([slot, generation]) => format!("{slot}.{generation}"),
        None => "-".to_owned(),
    };
    let link = match &client.link {
        Some(link) => format!(
            "{} shard {} round trip {} ms, {} of {} packets lost, {} bytes wait",
            link.address,
            link.shard,
            link.round_trip_ms,
            link.packets_lost,
            link.packets_sent,
            link.bytes_unsent
        ),
        None => "not connected".to_owned(),
    };
    format!(
        "{} account {} name {} entity {entity} {link}",
        client.number,
        or_none(&client.account),
        or_none(&client.name)
    )
}
