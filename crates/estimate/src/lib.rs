//! Estimators, provenance, calibrations and image cost.
