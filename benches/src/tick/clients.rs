use std::str::FromStr;

/// Numbers of clients, as `--clients` takes them: `FIRST..LAST`, doubling, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCounts(pub Vec<u32>);

impl FromStr for ClientCounts {
    type Err = String;

    fn from_str(text: &str) -> Result<ClientCounts, String> {
        let number = |text: &str| match text.trim().parse::<u32>() {
            Ok(n) if (1..=CLIENTS_MAX).contains(&n) => Ok(n),
            _ => Err(format!(
                "expected numbers from 1 to {CLIENTS_MAX}, as FIRST..LAST or as a list; found {text:?}"
            )),
        };
        let Some((first, last)) = text.split_once("..") else {
            let list = text.split(',').map(number).collect::<Result<_, _>>()?;
            return Ok(ClientCounts(list));
        };
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!(
                "expected FIRST..LAST with the smaller number first; found {text:?}"
            ));
        }
        let doubling = std::iter::successors(Some(first), |n| n.checked_mul(2));
        Ok(ClientCounts(doubling.take_while(|&n| n <= last).collect()))
    }
}

const CLIENTS_MAX: u32 = 1 << 23;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_clients_doubles() {
        let counts = |text: &str| text.parse::<ClientCounts>().map(|c| c.0);
        assert_eq!(counts("512..2048"), Ok(vec![512, 1024, 2048]));
        assert_eq!(counts("3..13"), Ok(vec![3, 6, 12]));
        assert_eq!(counts("7..7"), Ok(vec![7]));
        assert_eq!(counts("65536,524288"), Ok(vec![65_536, 524_288]));
        assert_eq!(counts("100"), Ok(vec![100]));
    }
}
