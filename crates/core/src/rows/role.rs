//! The roles of tables and of their columns.

/// Role of a table: the kind of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Clicks,
    Links,
    Judgments,
    Queries,
    Documents,
    Events,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Clicks => "clicks",
            Role::Links => "links",
            Role::Judgments => "judgments",
            Role::Queries => "queries",
            Role::Documents => "documents",
            Role::Events => "events",
        }
    }

    /// The columns with a role in it.
    pub(super) fn columns(self) -> &'static [ColumnRole] {
        use ColumnRole as C;
        match self {
            Role::Clicks => &[C::Query, C::Doc, C::Clicks, C::Weight, C::Split],
            Role::Links => &[C::Query, C::Doc, C::Weight, C::Split],
            Role::Judgments => &[C::Query, C::Doc, C::Grade, C::Split],
            Role::Queries => &[C::Id, C::Text, C::Clicks, C::Split],
            Role::Documents => &[C::Id],
            Role::Events => {
                &[C::Query, C::Doc, C::Time, C::User, C::Session, C::Page, C::Rank, C::Clicked]
            }
        }
    }
}

/// The role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnRole {
    Query,
    Doc,
    Clicks,
    Weight,
    Split,
    Grade,
    Id,
    Time,
    User,
    Session,
    Page,
    Rank,
    Clicked,
    Text,
}

impl ColumnRole {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ColumnRole::Query => "query",
            ColumnRole::Doc => "doc",
            ColumnRole::Clicks => "clicks",
            ColumnRole::Weight => "weight",
            ColumnRole::Split => "split",
            ColumnRole::Grade => "grade",
            ColumnRole::Id => "id",
            ColumnRole::Time => "time",
            ColumnRole::User => "user",
            ColumnRole::Session => "session",
            ColumnRole::Page => "page",
            ColumnRole::Rank => "rank",
            ColumnRole::Clicked => "clicked",
            ColumnRole::Text => "text",
        }
    }

    pub(super) fn is_optional(self) -> bool {
        use ColumnRole::{Doc, Grade, Id, Query, Text};
        !matches!(self, Query | Doc | Grade | Id | Text)
    }

    /// Whether one column of a table may have both roles: queries are often their own ids, and a
    /// session may serve as user or page.
    pub(super) fn can_share(self, other: ColumnRole) -> bool {
        let one_of = |column| match column {
            ColumnRole::Id | ColumnRole::Text => 1,
            ColumnRole::User | ColumnRole::Session | ColumnRole::Page => 2,
            _ => 0,
        };
        one_of(self) != 0 && one_of(self) == one_of(other)
    }

    /// Another usual name of it.
    pub(super) fn other_name(self) -> Option<&'static str> {
        (self == ColumnRole::Id).then_some("_id")
    }
}
