//! Linear rankers: a score is a weighted sum of features.

mod adarank;
mod best_step;
mod checks;
mod cholesky;
mod coordinate_ascent;
mod cutting_planes;
mod hinge;
mod ir_svm;
mod lbfgs;
mod listmle;
mod listnet;
mod logistic;
mod matrix;
mod optimum;
mod pairs;
mod rankboost;
mod ranking_svm;
mod regression;
mod regularisation_path;
mod svm_map;
mod table_measure;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use adarank::AdaRank;
pub use coordinate_ascent::CoordinateAscent;
pub use ir_svm::IrSvm;
pub use listmle::ListMle;
pub use listnet::ListNet;
pub use logistic::Logistic;
pub use rankboost::RankBoost;
pub use ranking_svm::RankingSvm;
pub use regression::Regression;
pub use svm_map::SvmMap;
