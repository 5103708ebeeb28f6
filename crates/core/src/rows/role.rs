//! What a table is read as, and which of its columns mean something then.

/// What a table is read as.
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

    /// The columns that mean something in it.
    pub(super) fn columns(self) -> &'static [Column] {
        match self {
            Role::Clicks => {
                &[Column::Query, Column::Doc, Column::Clicks, Column::Weight, Column::Split]
            }
            Role::Links => &[Column::Query, Column::Doc, Column::Weight, Column::Split],
            Role::Judgments => &[Column::Query, Column::Doc, Column::Grade, Column::Split],
            Role::Queries => &[Column::Id, Column::Text, Column::Clicks, Column::Split],
            Role::Documents => &[Column::Id],
            Role::Events => &[
                Column::Query,
                Column::Doc,
                Column::Time,
                Column::User,
                Column::Session,
                Column::Page,
                Column::Rank,
                Column::Clicked,
            ],
        }
    }
}

/// A column that means something to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
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

impl Column {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Column::Query => "query",
            Column::Doc => "doc",
            Column::Clicks => "clicks",
            Column::Weight => "weight",
            Column::Split => "split",
            Column::Grade => "grade",
            Column::Id => "id",
            Column::Time => "time",
            Column::User => "user",
            Column::Session => "session",
            Column::Page => "page",
            Column::Rank => "rank",
            Column::Clicked => "clicked",
            Column::Text => "text",
        }
    }

    pub(super) fn is_optional(self) -> bool {
        !matches!(self, Column::Query | Column::Doc | Column::Grade | Column::Id | Column::Text)
    }

    /// Whether one column of a table may be both: queries are often their own ids, and a
    /// session may stand for a user or a page.
    pub(super) fn can_share(self, other: Column) -> bool {
        let one_of = |column| match column {
            Column::Id | Column::Text => 1,
            Column::User | Column::Session | Column::Page => 2,
            _ => 0,
        };
        one_of(self) != 0 && one_of(self) == one_of(other)
    }

    /// Another name that is usual for it.
    pub(super) fn other_name(self) -> Option<&'static str> {
        (self == Column::Id).then_some("_id")
    }
}
