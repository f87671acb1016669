//! What looks at finished work before it lands. A verifier is a file here and a row of the list.

mod as_before;
mod commands;
mod committable;
mod definition;
mod elsewhere;
mod own;
mod proof;
mod review;
mod scope;
mod substance;
mod trial;
mod weakened;

use crate::run::attempt::verify::Verifiers;

/// All verifiers, in the order in which they look at the work.
pub(crate) const ALL: Verifiers = &[
    &committable::Committable,
    &scope::Scope,
    &commands::Commands,
    &as_before::AsBefore,
    &definition::Definition,
    &substance::Substance,
    &elsewhere::Elsewhere,
    &weakened::Weakening,
    &own::Own,
    &proof::Proofs,
    &review::Review,
];
