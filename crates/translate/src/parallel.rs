//! Independent tasks on a few threads.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does `work` for each of `0..tasks` and returns the results in that order.
///
/// Tasks are begun in order, each by the next thread that is free: with the longest first, all threads end at about the
/// same time.
///
/// # Errors
/// That of the first task, in order, that failed; tasks not yet begun are left out then.
pub(crate) fn in_order<T: Send, E: Send>(
    threads: NonZero<usize>,
    tasks: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    if threads.get() == 1 || tasks <= 1 {
        return (0..tasks).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(tasks));
    thread::scope(|scope| {
        for _ in 0..threads.get().min(tasks) {
            scope.spawn(|| {
                while let Some(task) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&task| task < tasks) {
                    let result = work(task);
                    if result.is_err() {
                        next.store(tasks, Ordering::Relaxed);
                    }
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((task, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|&(task, _)| task);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::in_order;
    use std::num::NonZero;

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        for threads in 1..5 {
            for tasks in [0, 1, 2, 100] {
                let squares = in_order(NonZero::new(threads).unwrap(), tasks, |task| Ok::<_, ()>(task * task));
                assert_eq!(squares, Ok((0..tasks).map(|task| task * task).collect()));
            }
        }
    }

    #[test]
    fn the_first_failure_is_reported() {
        for threads in 1..5 {
            let fails = |task| if task >= 5 { Err(task) } else { Ok(task) };
            assert_eq!(in_order(NonZero::new(threads).unwrap(), 100, fails), Err(5));
        }
    }
}
