//! How an enum of operations is declared: once, with what its parts are.

/// Declares operations over a [`Form`](super::Form) `F`, and `map`, which replaces their parts in the order in which
/// they stand: the order of evaluation. A field is a part (`F::Value`), several (`Box<[F::Value]>`), perhaps one
/// (`Option<F::Target>`), or something that all forms have (`copy LockMode`). The fields of a tuple have names here.
macro_rules! operations {
    (
        $(#[$about:meta])*
        pub enum $name:ident {
            $(
                $(#[$says:meta])*
                $op:ident
                $({ $(
                    $field:ident:
                        $(F::$one:ident)? $(Box<[F::$many:ident]>)? $(Option<F::$maybe:ident>)? $(copy $plain:ty)?
                ),* $(,)? })?
                $(( $(
                    $part:ident:
                        $(F::$own:ident)? $(Option<F::$perhaps:ident>)? $(copy $other:ty)?
                ),* ))?
            ),* $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "what an operation says about itself names its parts")]
        pub enum $name<F: $crate::ops::Form = $crate::ops::Code> {
            $(
                $(#[$says])*
                $op
                $({ $($field: $(F::$one)? $(Box<[F::$many]>)? $(Option<F::$maybe>)? $($plain)?),* })?
                $(( $($(F::$own)? $(Option<F::$perhaps>)? $($other)?),* ))?
            ),*
        }

        impl<F: $crate::ops::Form> $name<F> {
            pub(super) fn map<G: $crate::ops::Form>(
                &self,
                _parts: &mut impl $crate::ops::Parts<F, G>,
            ) -> $name<G> {
                match self {
                    $(
                        $name::$op $({ $($field),* })? $(( $($part),* ))? => $name::$op
                            $({ $($field: operations!(
                                @_parts $field $(one $one)? $(many $many)? $(maybe $maybe)? $(copy $plain)?
                            )),* })?
                            $(( $(operations!(
                                @_parts $part $(one $own)? $(maybe $perhaps)? $(copy $other)?
                            )),* ))?
                    ),*
                }
            }
        }
    };

    (@$parts:ident $field:ident one Value) => { $parts.value($field) };
    (@$parts:ident $field:ident one Object) => { $parts.object($field) };
    (@$parts:ident $field:ident one Target) => { $parts.target($field) };
    (@$parts:ident $field:ident one Routine) => { $parts.routine($field) };
    (@$parts:ident $field:ident many Value) => { $parts.values($field) };
    (@$parts:ident $field:ident maybe Value) => { $field.as_ref().map(|it| $parts.value(it)) };
    (@$parts:ident $field:ident maybe Target) => { $parts.optional_target($field) };
    (@$parts:ident $field:ident copy $type:ty) => { *$field };
}

pub(super) use operations;
