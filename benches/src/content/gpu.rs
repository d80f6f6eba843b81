#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use here::makers;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn makers(_: bool) -> Vec<super::subject::Maker> {
    vec![Box::new(|_| {
        anyhow::bail!("the cuda backend needs Linux on x86-64")
    })]
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod here {
    use gpu_kernels::content::counting::Order;
    use gpu_kernels::content::cuda::{BatchSizes, CudaCountingMatcher, CudaMatcher, Reset};
    use gpu_kernels::content::{Batch, Matches, Subscriptions};
    use gpu_kernels::cuda::Pinned;

    use crate::content::subject::{Checksum, Maker, OURS, Subject};

    /// Ours, and the paper's way in each of its variants.
    pub fn makers(is_dense: bool) -> Vec<Maker> {
        let mut makers: Vec<Maker> = vec![Box::new(|s| Ok(Box::new(Ours::new(s)?)))];
        for (order, reset, approach) in [
            (Order::AsFound, Reset::InKernel, "counting"),
            (Order::AsFound, Reset::Memset, "counting, memset"),
            (Order::ByOperator, Reset::InKernel, "counting, by operator"),
        ] {
            if !is_dense || approach == "counting" {
                makers.push(Box::new(move |s| {
                    let matcher = CudaCountingMatcher::new(s, order, reset)?;
                    Ok(Box::new(Counting {
                        matcher,
                        approach,
                        matches: Matches::new(),
                    }))
                }));
            }
        }
        makers
    }

    struct Ours {
        matcher: CudaMatcher,
        matches: Matches,
        locked: Option<Pinned>,
    }

    impl Ours {
        fn new(subscriptions: &mut Subscriptions) -> anyhow::Result<Ours> {
            Ok(Ours {
                matcher: CudaMatcher::new(subscriptions, BatchSizes::default())?,
                matches: Matches::new(),
                locked: None,
            })
        }
    }

    impl Subject for Ours {
        fn backend(&self) -> &'static str {
            "cuda"
        }

        fn approach(&self) -> String {
            OURS.to_owned()
        }

        fn lock(&mut self, batch: &Batch) {
            self.locked = CudaMatcher::lock(batch);
        }

        fn bytes(&self, _: &Subscriptions) -> usize {
            self.matcher.bytes() as usize
        }

        fn match_batch(
            &mut self,
            subscriptions: &mut Subscriptions,
            batch: &Batch,
        ) -> anyhow::Result<()> {
            let matches = &mut self.matches;
            Ok(self.matcher.match_batch(subscriptions, batch, matches)?)
        }

        fn checksum(&self) -> Checksum {
            Checksum::of(&self.matches)
        }
    }

    struct Counting {
        matcher: CudaCountingMatcher,
        approach: &'static str,
        matches: Matches,
    }

    impl Subject for Counting {
        fn backend(&self) -> &'static str {
            "cuda"
        }

        fn approach(&self) -> String {
            self.approach.to_owned()
        }

        fn bytes(&self, _: &Subscriptions) -> usize {
            self.matcher.bytes() as usize
        }

        fn match_batch(
            &mut self,
            subscriptions: &mut Subscriptions,
            batch: &Batch,
        ) -> anyhow::Result<()> {
            let matches = &mut self.matches;
            Ok(self.matcher.match_batch(subscriptions, batch, matches)?)
        }

        fn checksum(&self) -> Checksum {
            Checksum::of(&self.matches)
        }
    }
}
