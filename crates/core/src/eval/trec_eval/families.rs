//! trec_eval's measures in the order in which it prints them, with their parameters and defaults.

use super::gains::Gains;
use super::statistic::Statistic;

/// A measure of trec_eval, or several that differ in a cut.
pub(super) struct Family {
    pub name: &'static str,
    pub parameters: Parameters,
}

/// The parameters of a family with their defaults, and the statistic that they give.
pub(super) enum Parameters {
    /// No parameters.
    None(Statistic),
    /// Numbers of documents, one column each.
    Cuts(&'static [usize], fn(usize) -> Statistic),
    /// Shares, one column each.
    Shares(&'static [f64], fn(f64) -> Statistic),
    /// Some numbers in one column, with a description of those allowed; `None` refuses others.
    Numbers(&'static [f64], &'static str, fn(&[f64]) -> Option<Statistic>),
    /// Gains of grades (`1=3,2=9`).
    Gains(fn(Gains) -> Statistic),
    /// A probability `p`, and gains of grades if `gains`.
    Persistence { gains: bool, of: fn(f64, Gains) -> Statistic },
}

const ALL: usize = usize::MAX;
const CUTS: &[usize] = &[5, 10, 15, 20, 30, 100, 200, 500, 1000];
const RECALLS: &[f64] = &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
const MULTIPLES: &[f64] = &[0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0];

/// Default persistence of the user in rank-biased precision.
pub(super) const PERSISTENCE: f64 = 0.9;

const fn plain(name: &'static str, statistic: Statistic) -> Family {
    Family { name, parameters: Parameters::None(statistic) }
}

const fn cut(name: &'static str, cuts: &'static [usize], of: fn(usize) -> Statistic) -> Family {
    Family { name, parameters: Parameters::Cuts(cuts, of) }
}

/// Every family, in trec_eval's order.
pub(super) static FAMILIES: [Family; 40] = {
    use Statistic as S;
    [
        plain("runid", S::RunId),
        plain("num_q", S::NumQ),
        plain("num_ret", S::NumRet),
        plain("num_rel", S::NumRel),
        plain("num_rel_ret", S::NumRelRet),
        plain("map", S::Ap { k: ALL }),
        plain("gm_map", S::GmAp),
        plain("Rprec", S::Rprec),
        plain("bpref", S::Bpref),
        plain("recip_rank", S::Rr { k: ALL }),
        Family {
            name: "iprec_at_recall",
            parameters: Parameters::Shares(RECALLS, |recall| S::IprecAtRecall { recall }),
        },
        cut("P", CUTS, |k| S::P { k }),
        Family {
            name: "relstring",
            parameters: Parameters::Numbers(
                &[10.0],
                "a number from 1 on, as in relstring.10",
                |given| match given {
                    &[k] if k >= 1.0 => Some(S::RelString { k: k as usize }),
                    _ => None,
                },
            ),
        },
        cut("recall", CUTS, |k| S::Recall { k }),
        plain("infAP", S::InfAp),
        plain("gm_bpref", S::GmBpref),
        Family {
            name: "Rprec_mult",
            parameters: Parameters::Shares(MULTIPLES, |multiple| S::RprecMult { multiple }),
        },
        Family {
            name: "utility",
            parameters: Parameters::Numbers(
                &[1.0, -1.0, 0.0, 0.0],
                "4 numbers, as in utility.1,-1,0,0",
                |given| Some(S::Utility { weights: given.try_into().ok()? }),
            ),
        },
        Family {
            name: "11pt_avg",
            parameters: Parameters::Numbers(RECALLS, "recalls, as in 11pt_avg.0,0.5,1", |given| {
                Some(S::ElevenPoints { recalls: given.to_vec() })
            }),
        },
        plain("binG", S::BinG),
        Family { name: "G", parameters: Parameters::Gains(|gains| S::G { gains }) },
        Family { name: "dcg", parameters: Parameters::Gains(|gains| S::Dcg { k: ALL, gains }) },
        Family { name: "ideal_dcg", parameters: Parameters::Gains(|gains| S::IdealDcg { gains }) },
        Family { name: "ndcg", parameters: Parameters::Gains(|gains| S::Ndcg { k: ALL, gains }) },
        Family { name: "ndcg_rel", parameters: Parameters::Gains(|gains| S::NdcgRel { gains }) },
        Family { name: "Rndcg", parameters: Parameters::Gains(|gains| S::Rndcg { gains }) },
        cut("ndcg_cut", CUTS, |k| S::Ndcg { k, gains: Gains::Linear }),
        cut("map_cut", CUTS, |k| S::Ap { k }),
        cut("relative_P", CUTS, |k| S::RelativeP { k }),
        cut("success", &[1, 5, 10], |k| S::Success { k }),
        plain("set_P", S::SetP),
        plain("set_relative_P", S::SetRelativeP),
        plain("set_recall", S::SetRecall),
        plain("set_map", S::SetAp),
        Family {
            name: "set_F",
            parameters: Parameters::Numbers(
                &[1.0],
                "1 number from 0 on, as in set_F.0.5",
                |given| match given {
                    &[x] if x >= 0.0 => Some(S::SetF { x }),
                    _ => None,
                },
            ),
        },
        plain("num_nonrel_judged_ret", S::NumNonrelJudgedRet),
        plain("yaap", S::Yaap),
        Family {
            name: "rbp",
            parameters: Parameters::Persistence {
                gains: true,
                of: |p, gains| S::Rbp { k: ALL, p, gains },
            },
        },
        Family {
            name: "rbp_resid",
            parameters: Parameters::Persistence { gains: false, of: |p, _| S::RbpResid { p } },
        },
        cut("unj", &[5, 10, 20], |k| S::Unjudged { k }),
    ]
};

/// The names of all families.
pub(super) fn family_names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name)
}

/// The families of a collective name, in any order.
pub(super) fn nickname(name: &str) -> Option<Vec<&'static str>> {
    let all = family_names();
    let list: Vec<&str> = match name {
        // The first twelve are the official ones.
        "official" => all.take(12).collect(),
        "all_trec" => all.filter(|name| !["dcg", "ideal_dcg", "yaap"].contains(name)).collect(),
        "set" => {
            let counts = |name: &&str| *name == "runid" || name.starts_with("num_");
            all.filter(|name| counts(name) || name.starts_with("set_") || *name == "utility")
                .filter(|name| *name != "num_nonrel_judged_ret")
                .collect()
        }
        _ => return None,
    };
    Some(list)
}
