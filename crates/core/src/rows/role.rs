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
    pub(super) fn columns(self) -> &'static [ColumnRole] {
        match self {
            Role::Clicks => &[
                ColumnRole::Query,
                ColumnRole::Doc,
                ColumnRole::Clicks,
                ColumnRole::Weight,
                ColumnRole::Split,
            ],
            Role::Links => {
                &[ColumnRole::Query, ColumnRole::Doc, ColumnRole::Weight, ColumnRole::Split]
            }
            Role::Judgments => {
                &[ColumnRole::Query, ColumnRole::Doc, ColumnRole::Grade, ColumnRole::Split]
            }
            Role::Queries => {
                &[ColumnRole::Id, ColumnRole::Text, ColumnRole::Clicks, ColumnRole::Split]
            }
            Role::Documents => &[ColumnRole::Id],
            Role::Events => &[
                ColumnRole::Query,
                ColumnRole::Doc,
                ColumnRole::Time,
                ColumnRole::User,
                ColumnRole::Session,
                ColumnRole::Page,
                ColumnRole::Rank,
                ColumnRole::Clicked,
            ],
        }
    }
}

/// A column that means something to us.
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
        !matches!(
            self,
            ColumnRole::Query
                | ColumnRole::Doc
                | ColumnRole::Grade
                | ColumnRole::Id
                | ColumnRole::Text
        )
    }

    /// Whether one column of a table may be both: queries are often their own ids, and a
    /// session may stand for a user or a page.
    pub(super) fn can_share(self, other: ColumnRole) -> bool {
        let one_of = |column| match column {
            ColumnRole::Id | ColumnRole::Text => 1,
            ColumnRole::User | ColumnRole::Session | ColumnRole::Page => 2,
            _ => 0,
        };
        one_of(self) != 0 && one_of(self) == one_of(other)
    }

    /// Another name that is usual for it.
    pub(super) fn other_name(self) -> Option<&'static str> {
        (self == ColumnRole::Id).then_some("_id")
    }
}
