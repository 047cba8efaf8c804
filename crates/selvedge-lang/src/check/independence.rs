//! Independence constraints between atomic procedures and atomic blocks.

use super::body::{BodyChecker, LocalKind, Region};
use super::expressions::arguments;
use super::{Checker, Meaning};
use crate::diagnostic::Diagnostic;
use crate::tree::resolved::{Condition, Independence, Local, SectionId, SectionLocal};
use crate::tree::written::{Independent, IndependentSide, Item};

/// How the condition speaks of the two sections, besides their own names.
const SIDES: [&str; 2] = ["first", "second"];

impl<'c> Checker<'c> {
    pub(super) fn independence(&mut self) -> Vec<Independence> {
        let mut constraints = Vec::new();
        for item in &self.file.items {
            if let Item::Independent(independent) = item {
                constraints.extend(self.constraint(independent));
            }
        }
        // Functions in conditions: their calls were noted just now.
        self.check_calls();
        constraints
    }

    fn constraint(&mut self, independent: &'c Independent) -> Option<Independence> {
        let [first, second] = &independent.sides;
        let sections = [self.section(first), self.section(second)];
        let [Some(first), Some(second)] = sections else { return None };
        let condition = match &independent.condition {
            None => None,
            Some(expr) => {
                let mut origins = Vec::new();
                let mut body = BodyChecker::new(self, Region::Condition);
                body.bind_sides(independent, [first, second], &mut origins);
                let value = body.condition(expr);
                let locals =
                    body.locals.into_iter().map(|info| Local { name: info.name, ty: info.ty });
                let locals = locals.zip(origins).collect();
                Some(Condition { locals, value: value? })
            }
        };
        Some(Independence { span: independent.span, first, second, condition })
    }

    fn section(&mut self, side: &IndependentSide) -> Option<SectionId> {
        let name = &side.name.text;
        let Some(id) = self.section_named(name) else {
            self.report_no_section(side);
            return None;
        };
        if let Some(routine) = self.sections[id.0].routine {
            self.routines[routine.index()].used = true;
        }
        let info = &self.sections[id.0];
        let problem = match (&info.routine, &side.params) {
            _ if info.several => Some((
                format!("`{name}` stands in a routine that takes objects: it is several blocks"),
                "constraints speak of blocks that use the objects by their own names".to_owned(),
            )),
            (Some(_), params) => {
                let given = params.as_ref().map_or(0, Vec::len);
                let wanted = info.locals.len();
                let names: Vec<_> = info.locals.iter().map(|local| local.0.as_str()).collect();
                (given != wanted).then(|| {
                    let message = format!("`{name}` has {}, not {given}", arguments(wanted));
                    (message, format!("write `{name}({})`", names.join(", ")))
                })
            }
            (None, Some(_)) => Some((
                format!("`{name}` is an atomic block and has no arguments"),
                format!("write `{name}`, and `{name}.v` for its local variable `v`"),
            )),
            (None, None) => None,
        };
        if let Some((message, help)) = problem {
            self.report(Diagnostic::error(side.name.span, message).help(help));
            return None;
        }
        Some(id)
    }

    fn report_no_section(&mut self, side: &IndependentSide) {
        let name = &side.name.text;
        let routines = &self.routines;
        let fits = |meaning| match meaning {
            Meaning::Routine(i) => routines[i].section.is_some(),
            Meaning::Section(_) => true,
            _ => false,
        };
        let near = self.near_global(name, fits).map(|near| format!("did you mean `{near}`?"));
        let (message, help) = match self.names.get(name).map(|entry| entry.meaning) {
            Some(Meaning::Routine(i)) if self.routines[i].decl.takes_objects() => (
                format!("`{name}` takes objects: it is several procedures"),
                Some("constraints speak of procedures that take values only".to_owned()),
            ),
            Some(Meaning::Routine(_)) => (
                format!("`{name}` is not atomic"),
                Some(format!("declare it as `atomic proc {name}`")),
            ),
            Some(meaning) => {
                let what = self.describe(meaning);
                (format!("`{name}` is {what}, not an atomic procedure or block"), near)
            }
            None if name.starts_with("atomic ") => {
                let count = self.unnamed.len();
                let help = match count {
                    0 => "every atomic block has a name".to_owned(),
                    _ => format!(
                        "there are `atomic 1` to `atomic {count}`, in the order of the text"
                    ),
                };
                (format!("there is no block `{name}` among those without a name"), Some(help))
            }
            None => {
                let declare =
                    format!("declare `atomic proc {name}`, or write `atomic {name} {{ … }}`");
                let message = format!("unknown atomic procedure or block `{name}`");
                (message, near.or(Some(declare)))
            }
        };
        self.report(Diagnostic::error(side.name.span, message).maybe_help(help));
        self.reported.insert(side.name.text.clone());
    }
}

impl BodyChecker<'_, '_> {
    /// Declares what the condition can speak of, and records what each of it stands for.
    fn bind_sides(
        &mut self,
        independent: &Independent,
        sections: [SectionId; 2],
        origins: &mut Vec<SectionLocal>,
    ) {
        let same = sections[0] == sections[1];
        for (i, (side, id)) in independent.sides.iter().zip(sections).enumerate() {
            let make = if i == 0 { SectionLocal::First } else { SectionLocal::Second };
            let locals = self.checker.sections[id.0].locals.clone();
            let params = side.params.iter().flatten().zip(&locals);
            for (param, (_, ty, local)) in params {
                self.declare_param(param, *ty);
                origins.push(make(*local));
            }
            for (name, ty, local) in &locals {
                let mut bases = vec![SIDES[i]];
                if !same && !side.name.text.contains(' ') {
                    bases.push(&side.name.text);
                }
                for base in bases {
                    let field = format!("{base}.{name}");
                    self.add_local(&field, side.name.span, *ty, LocalKind::Param);
                    origins.push(make(*local));
                }
            }
        }
    }
}
