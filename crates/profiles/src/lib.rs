//! What is known of each agent, dated and sourced. Data only.
