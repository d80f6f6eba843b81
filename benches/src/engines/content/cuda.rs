//! The engine's matchers on a GPU as subjects.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use here::makers;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn makers(_: bool) -> Vec<super::subject::Maker> {
    vec![Box::new(|_| crate::cuda::unavailable())]
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod here {
    use engines::counting::Order;
    use engines::counting::{CudaCountingMatcher, Reset};
    use gpu_kernels::content::cuda::{BatchSizes, CudaMatcher};
    use gpu_kernels::content::{Batch, Matches, Subscriptions};

    use crate::cuda::GPU;
    use crate::engines::content::matcher::{Matcher, Way};
    use crate::engines::content::subject::{Maker, OURS};

    /// Ours, and the paper's way in all its variants.
    pub fn makers(is_dense: bool) -> Vec<Maker> {
        let mut makers: Vec<Maker> = vec![Box::new(|s| {
            let matcher = CudaMatcher::new(GPU, s, BatchSizes::default())?;
            Ok(Way::boxed(matcher, "cuda", OURS, 1))
        })];
        for (order, reset, approach) in [
            (Order::AsFound, Reset::InKernel, "counting"),
            (Order::AsFound, Reset::Memset, "counting, memset"),
            (Order::ByOperator, Reset::InKernel, "counting, by operator"),
        ] {
            if !is_dense || approach == "counting" {
                makers.push(Box::new(move |s| {
                    let matcher = CudaCountingMatcher::new(GPU, s, order, reset)?;
                    Ok(Way::boxed(matcher, "cuda", approach, 1))
                }));
            }
        }
        makers
    }

    impl Matcher for CudaMatcher {
        fn match_batch(
            &mut self,
            subscriptions: &mut Subscriptions,
            batch: &Batch,
            matches: &mut Matches,
        ) -> anyhow::Result<()> {
            Ok(CudaMatcher::match_batch(
                self,
                subscriptions,
                batch,
                matches,
            )?)
        }

        fn bytes(&self, _: &Subscriptions) -> usize {
            CudaMatcher::bytes(self) as usize
        }
    }

    impl Matcher for CudaCountingMatcher {
        fn match_batch(
            &mut self,
            subscriptions: &mut Subscriptions,
            batch: &Batch,
            matches: &mut Matches,
        ) -> anyhow::Result<()> {
            Ok(CudaCountingMatcher::match_batch(
                self,
                subscriptions,
                batch,
                matches,
            )?)
        }

        fn bytes(&self, _: &Subscriptions) -> usize {
            CudaCountingMatcher::bytes(self) as usize
        }

        fn stages(&self) -> Vec<(&'static str, f64)> {
            let stages = CudaCountingMatcher::stages(self);
            [
                ("upload", stages.upload_ms),
                ("kernel", stages.kernel_ms),
                ("download", stages.download_ms),
            ]
            .map(|(name, ms)| (name, ms.into()))
            .to_vec()
        }
    }
}
