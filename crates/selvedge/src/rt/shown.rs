//! Values of checked code in words, for reports: those of types that every program has.
//!
//! A generic cell does not know how to show its content. The name of its type tells it: names of numbers have no path, so that no
//! type of a program has one of them.

use std::any::type_name;
use std::fmt::Debug;

/// So many elements of an array are shown.
const MOST_ELEMENTS: usize = 8;

/// What a `T` at this address is, if it is a number, a truth value, a character or an array of them.
///
/// The address is that of a `T` to which no exclusive reference is in use: threads of checked code run one at a time.
pub(crate) fn shown<T: ?Sized>(address: usize) -> Option<String> {
    text(type_name::<T>(), address).map(|(text, _)| text)
}

/// The text, and how many bytes it stands for.
fn text(name: &str, address: usize) -> Option<(String, usize)> {
    fn read<N: Copy + Debug>(address: usize) -> Option<(String, usize)> {
        // SAFETY: there is a value of this type, as its name says.
        let value = unsafe { (address as *const N).read_unaligned() };
        Some((format!("{value:?}"), size_of::<N>()))
    }
    match name {
        "i8" => read::<i8>(address),
        "i16" => read::<i16>(address),
        "i32" => read::<i32>(address),
        "i64" => read::<i64>(address),
        "i128" => read::<i128>(address),
        "isize" => read::<isize>(address),
        "u8" => read::<u8>(address),
        "u16" => read::<u16>(address),
        "u32" => read::<u32>(address),
        "u64" => read::<u64>(address),
        "u128" => read::<u128>(address),
        "usize" => read::<usize>(address),
        "f32" => read::<f32>(address),
        "f64" => read::<f64>(address),
        "bool" => read::<bool>(address),
        "char" => read::<char>(address),
        _ => array(name, address),
    }
}

/// `[u8; 4]`, whose elements lie one after the other.
fn array(name: &str, mut address: usize) -> Option<(String, usize)> {
    let (element, count) = name.strip_prefix('[')?.strip_suffix(']')?.rsplit_once("; ")?;
    let (count, first) = (count.parse::<usize>().ok()?, address);
    let mut texts = Vec::new();
    for _ in 0..count {
        let (text, length) = text(element, address)?;
        address += length;
        texts.push(text);
    }
    if count > MOST_ELEMENTS {
        texts.truncate(MOST_ELEMENTS);
        texts.push(format!("… ({count} in all)"));
    }
    Some((format!("[{}]", texts.join(", ")), address - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<T>(value: T) -> Option<String> {
        shown::<T>(&raw const value as usize)
    }

    #[test]
    fn values_that_every_program_has_are_shown() {
        assert_eq!(of(-7_i8).as_deref(), Some("-7"));
        assert_eq!(of(u128::MAX), Some(u128::MAX.to_string()));
        assert_eq!(of(0.5_f64).as_deref(), Some("0.5"));
        assert_eq!(of((true, 'x').1).as_deref(), Some("'x'"));
        assert_eq!(of([[1_u16, 2], [3, 4]]).as_deref(), Some("[[1, 2], [3, 4]]"));
        assert_eq!(
            of([true; 9]).as_deref().map(|text| text.ends_with("… (9 in all)]")),
            Some(true)
        );
    }

    #[test]
    fn others_are_not() {
        #[allow(non_camel_case_types, reason = "the name of a number")]
        struct u32(#[allow(dead_code, reason = "only its type matters")] f32);
        assert_eq!(of(u32(1.0)), None);
        assert_eq!(of([u32(1.0)]), None);
        assert_eq!(of(Some(1_u8)), None);
        assert_eq!(of("text"), None);
        assert_eq!(shown::<[u8]>(0), None);
    }
}
