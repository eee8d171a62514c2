//! Any text read as a memory file and as a skill: sections make up the file, places are true, and nothing panics.

#![no_main]

use deadweight_estimate::estimator;
use deadweight_footprint::memory::{Load, Memory, Outline, Skill, Source, imports, price, tied_to_paths};
use deadweight_profiles::memory::{ImportSyntax, SkillListing};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let outline = Outline::read(text);
    let mut at = 0;
    for section in &outline.sections {
        assert!(section.own.start == at && section.own.end > at, "sections follow one another");
        assert!(section.inclusive.start == at && section.inclusive.end >= section.own.end);
        at = section.own.end;
    }
    assert_eq!(at, text.len(), "sections make up the file");
    for comment in &outline.comments {
        let comment = &text[comment.clone()];
        assert!(comment.starts_with("<!--") && comment.ends_with("-->"));
    }
    for syntax in [ImportSyntax::ClaudeCode, ImportSyntax::GeminiCli, ImportSyntax::QwenCode] {
        let mut last = 0;
        for import in imports(text, &outline, syntax) {
            assert!(import.span.start >= last && text[import.span.clone()].starts_with('@'));
            assert!(!import.path.is_empty());
            last = import.span.end;
        }
    }

    let calibrated = estimator("calibrated").expect("it is known");
    let source = Source {
        path: "CLAUDE.md".into(),
        in_project: true,
        text: text.into(),
        loads: vec![Load { agent: "claude-code", imported_by: None, times: 1 }],
        imports: Vec::new(),
    };
    let report = price(&Memory { files: vec![source], ..Memory::default() }, calibrated.as_ref());
    assert_eq!(report.total.bytes, text.len() as u64, "the price is that of the whole");
    let own: u64 = report.files[0].sections.iter().map(|section| section.bytes).sum();
    assert_eq!(own, text.len() as u64);

    let _ = tied_to_paths(text);
    let skill = Skill::read(text);
    for listing in [SkillListing::ClaudeCode, SkillListing::Plain] {
        if let Some(shown) = skill.shown("folder", Some("plugin"), listing) {
            assert!(listing == SkillListing::Plain || !shown.description.contains('\n'));
            assert_eq!(shown.bytes() + 2, shown.text().len() as u64);
        }
    }
});
