//! What waits for a person: when it may be completed, what is said before, and that nothing happens without a word.

use sessiond_core::{
    CompleteManualTask, DescribeManualTask, ErrorKind, FinishState, Json, ManualTask, Service, TaskCompletion,
};

use crate::agents::Platforms;
use crate::rig::{me, said};

/// A task with two buttons that waits.
fn task() -> ManualTask {
    ManualTask {
        work_item_id: "w-1".to_owned(),
        status: "pending".to_owned(),
        pending: true,
        title: Some("Approve change".to_owned()),
        view_type: Some("ViewData".to_owned()),
        btn_success: Some("Approve".to_owned()),
        btn_failure: Some("Reject".to_owned()),
        completion_supported: true,
        ..ManualTask::default()
    }
}

fn complete(finish_state: FinishState, confirm: bool) -> CompleteManualTask {
    CompleteManualTask { target: None, work_item: "w-1".to_owned(), finish_state, confirm, variables: None }
}

const PREVIEW: &str = "nothing was changed: repeat the call with confirm true once a person has agreed";
const FOR_GOOD: &str = "completing it cannot be undone, and whatever waits for it goes on at once";
const ACCOUNT: &str = "the platform records the account of this server as whoever completed it";

#[tokio::test(start_paused = true)]
async fn a_preview_changes_nothing_and_a_confirmed_call_does_it_once() {
    for (state, button) in [(FinishState::Success, "Approve"), (FinishState::Failure, "Reject")] {
        let rig = Platforms::one();
        rig.blue.put_task(task());
        let preview = rig.registry.complete_manual_task(&me(), complete(state, false)).await.unwrap();
        let word = state.as_str();
        let warnings =
            vec![PREVIEW.into(), FOR_GOOD.into(), ACCOUNT.into(), format!("{word} presses the button \"{button}\"")];
        let expected = TaskCompletion {
            work_item_id: "w-1".into(),
            title: Some("Approve change".into()),
            finish_state: state,
            completed: false,
            warnings,
        };
        assert_eq!(preview, expected);
        assert_eq!(rig.blue.asked(), ["task w-1"], "a preview only looks");
        let variables = Some(Json::from_checked(r#"{"note":"ok"}"#));
        let request = CompleteManualTask { variables, ..complete(state, true) };
        let done = rig.registry.complete_manual_task(&me(), request.clone()).await.unwrap();
        assert_eq!(done, TaskCompletion { completed: true, warnings: vec![], ..expected });
        let asked = rig.blue.asked();
        assert_eq!(asked[1..], ["task w-1".to_owned(), format!(r#"finish w-1 {word} {{"note":"ok"}}"#)]);
        let again = rig.registry.complete_manual_task(&me(), request).await.unwrap_err();
        assert_eq!(
            said(again),
            "failed_precondition: the task waits no more, its status is \"completed\": nothing was changed; \
             describe_session shows what waits"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn variables_that_are_no_flat_object_are_refused_before_the_platform_is_asked() {
    let rig = Platforms::one();
    rig.blue.put_task(task());
    for variables in ["null", "[]", "\"note\"", r#"{"note":{"by":"me"}}"#, r#"{"notes":["a"]}"#] {
        for confirm in [false, true] {
            let variables = Some(Json::from_checked(variables));
            let request = CompleteManualTask { variables, ..complete(FinishState::Success, confirm) };
            assert_eq!(
                said(rig.registry.complete_manual_task(&me(), request).await.unwrap_err()),
                "invalid_argument: variables must be a flat JSON object, like {\"name\": \"value\"}: give no list and no \
                 object as a value"
            );
        }
    }
    assert!(rig.blue.asked().is_empty(), "{:?}", rig.blue.asked());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_completed_is_refused_with_and_without_confirmation() {
    use FinishState::{Failure, Success};
    let over = ManualTask { pending: false, status: "canceled\n".to_owned(), ..task() };
    let form = ManualTask { completion_supported: false, view_type: Some("RenderJsonSchema".to_owned()), ..task() };
    let unknown = ManualTask { completion_supported: false, view_type: None, ..task() };
    let no_button = ManualTask { btn_failure: None, ..task() };
    let empty_button = ManualTask { btn_failure: Some(" ".to_owned()), ..task() };
    let cases: [(&ManualTask, FinishState, Option<&str>); 9] = [
        (&over, Success, Some("failed_precondition: the task waits no more, its status is \"canceled\\n\"")),
        (&over, Failure, Some("failed_precondition: the task waits no more")),
        (
            &form,
            Success,
            Some("unsupported: a task of the view type \"RenderJsonSchema\" cannot be completed from here"),
        ),
        (&unknown, Success, Some("unsupported: a task whose view type the platform does not name cannot be completed")),
        (&no_button, Failure, Some("failed_precondition: the task has no button for failure")),
        (&empty_button, Failure, Some("failed_precondition: the task has no button for failure")),
        (&no_button, Success, None),
        (&empty_button, Success, None),
        (&task(), Failure, None),
    ];
    for (task, state, refusal) in cases {
        for confirm in [false, true] {
            let rig = Platforms::one();
            rig.blue.put_task(task.clone());
            let answer = rig.registry.complete_manual_task(&me(), complete(state, confirm)).await;
            let finished = rig.blue.asked().iter().any(|asked| asked.starts_with("finish"));
            match refusal {
                Some(refusal) => {
                    let error = said(answer.unwrap_err());
                    assert!(error.starts_with(refusal), "{error}");
                    assert!(!finished, "{refusal}");
                }
                None => assert_eq!((answer.unwrap().completed, finished), (confirm, confirm)),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_words_on_a_button_stay_short_and_variables_are_mentioned() {
    let rig = Platforms::one();
    rig.blue.put_task(ManualTask { btn_success: Some(format!("\u{1b}{}", "x".repeat(1000))), ..task() });
    let variables = Some(Json::from_checked("{}"));
    let request = CompleteManualTask { variables, ..complete(FinishState::Success, false) };
    let preview = rig.registry.complete_manual_task(&me(), request).await.unwrap();
    let pressed = format!("success presses the button \"\\u{{1b}}{}...\"", "x".repeat(63));
    let variables = "the variables are handed to the platform with it".to_owned();
    assert_eq!(preview.warnings[3..], [pressed, variables]);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_described_as_it_is_and_an_unknown_one_is_the_platforms_refusal() {
    let rig = Platforms::one();
    rig.blue.put_task(task());
    let describe = |id: &str| DescribeManualTask { target: None, work_item: id.to_owned() };
    assert_eq!(rig.registry.describe_manual_task(&me(), describe("w-1")).await.unwrap(), task());
    let unknown = rig.registry.describe_manual_task(&me(), describe("w-2")).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    let unknown = CompleteManualTask { work_item: "w-2".into(), ..complete(FinishState::Success, true) };
    assert_eq!(rig.registry.complete_manual_task(&me(), unknown).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(rig.blue.asked(), ["task w-1", "task w-2", "task w-2"]);
}
