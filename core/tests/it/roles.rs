//! Owners of several targets, and what a role permits.

use std::collections::BTreeSet;
use std::sync::Arc;

use sessiond_core::{
    Access, AgentAction, AgentSessionQuery, Call, CheckCommand, CompleteManualTask, ConnectHost, ControlAgentSession,
    ControlSession, Cursor, DescribeAgentSession, DescribeManualTask, DisconnectHost, ErrorKind, FinishState, Guarded,
    Handle, ListAgentSessions, ListAgents, ListCommands, ListConnections, ListSessions, ListTargets, Owner,
    Permissions, ReadCommand, ReadCommandOutput, ReadSession, Result, Service, SessionId, StartAgent, StopSession,
    Stream, Verb, Wait, WriteSession,
};

use crate::agents::Platforms;
use crate::registry::NOT_FOUND;
use crate::rig::{Rig, kill, me, ms, said, target};

fn limited(names: &[&str]) -> Owner {
    let targets: BTreeSet<_> = names.iter().map(|name| target(name)).collect();
    Owner::new("me", Access::Targets(Arc::new(targets)))
}

#[test]
fn who_has_several_targets_names_one_and_who_has_one_need_not() {
    const MISSING: &str = "invalid_argument: client_token is missing: it names the target, and list_clients shows each";
    let management = Owner::management("me");
    let scoped = Owner::scoped("me", target("a"));
    for (owner, named, expected) in [
        (&management, Some("a"), Ok("a")),
        (&management, None, Err(MISSING)),
        (&scoped, None, Ok("a")),
        (&scoped, Some("a"), Ok("a")),
        (&scoped, Some("b"), Err(NOT_FOUND)),
        (&limited(&["a", "b"]), Some("b"), Ok("b")),
        (&limited(&["a", "b"]), None, Err(MISSING)),
        (&limited(&["a", "b"]), Some("c"), Err(NOT_FOUND)),
        (&limited(&["a"]), None, Ok("a")),
        (&limited(&["a"]), Some("b"), Err(NOT_FOUND)),
        (&limited(&[]), None, Err(MISSING)),
        (&limited(&[]), Some("a"), Err(NOT_FOUND)),
    ] {
        let selected = owner.select(named.map(target).as_ref()).map_err(said);
        assert_eq!(selected, expected.map(target).map_err(str::to_owned), "{owner:?} names {named:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_several_targets_sees_those_and_what_runs_there() {
    let rig = Rig::new();
    let session = rig.start("sleep 60").await;
    rig.launch("sleep 60").await;
    let registry = &rig.registry;
    let both = Call::new(limited(&["local", "other", "nowhere"]));
    let other = Call::new(limited(&["other", "nowhere"]));
    for (cx, targets, sessions, commands) in [
        (&me(), vec!["local", "other"], vec![session], 1),
        (&both, vec!["local", "other"], vec![session], 1),
        (&other, vec!["other"], vec![], 0),
    ] {
        let listed = registry.list_targets(cx, ListTargets::default()).await.unwrap();
        assert_eq!(listed.iter().map(|target| target.info.name.as_str()).collect::<Vec<_>>(), targets);
        let hosts = registry.list_hosts(cx).await.unwrap().hosts;
        assert_eq!(hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), targets);
        let page = registry.list_sessions(cx, ListSessions::default()).await.unwrap();
        assert_eq!(page.sessions.iter().map(|listed| listed.session).collect::<Vec<_>>(), sessions);
        assert_eq!(registry.list_commands(cx, ListCommands::default()).await.unwrap().len(), commands);
        let connections = registry.list_connections(cx, ListConnections::default()).await.unwrap();
        assert_eq!(connections.len(), commands, "one was made for the command");
    }
    let read = |named: Option<&str>| ReadSession {
        session,
        target: named.map(target),
        cursor: Cursor::START,
        wait: Wait::default(),
    };
    assert!(registry.read_session(&both, read(Some("local"))).await.is_ok());
    let missing = registry.read_session(&both, read(None)).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::InvalidArgument);
    assert_eq!(said(registry.read_session(&other, read(Some("local"))).await.unwrap_err()), NOT_FOUND);
    let list = ListSessions { target: Some(target("local")), ..ListSessions::default() };
    assert_eq!(said(registry.list_sessions(&other, list).await.unwrap_err()), NOT_FOUND);
    let disconnect = DisconnectHost { target: Some(target("local")) };
    let error = said(registry.disconnect_host(&other, disconnect).await.unwrap_err());
    assert!(error.starts_with("not_found: there is no host \"local\" here"), "{error}");
}

#[test]
fn a_role_is_a_set_of_verbs() {
    let read_only = Permissions::read_only();
    for verb in Verb::ALL {
        assert!(Permissions::ALL.has(verb) && !Permissions::NONE.has(verb));
        assert_eq!(read_only.has(verb), verb.is_read_only(), "{verb}");
        assert!(Owner::management("me").may(verb), "who is not limited may do everything");
    }
    let some = Permissions::of(&[Verb::ReadSession, Verb::StopSession]);
    assert_eq!([Verb::StopSession, Verb::ReadSession].into_iter().collect::<Permissions>(), some);
    assert_eq!(some.and(read_only), Permissions::of(&[Verb::ReadSession]));
    assert_eq!(format!("{some:?}"), r#"{"read_session", "stop_session"}"#);
    let reads: Vec<_> = Verb::ALL.into_iter().filter(|verb| verb.is_read_only()).map(Verb::as_str).collect();
    assert_eq!(
        reads,
        [
            "list_targets",
            "read_session",
            "list_sessions",
            "list_hosts",
            "list_connections",
            "check_command",
            "read_command",
            "read_command_output",
            "list_commands",
            "list_platforms",
            "list_agent_sessions",
            "describe_agent_session",
            "agent_token_usage",
            "list_agents",
            "describe_manual_task",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn every_verb_is_refused_by_its_own_name_and_by_no_other() {
    let rig = Platforms::one();
    let guarded = Guarded::new(rig.registry.clone());
    for verb in Verb::ALL {
        let others = Verb::ALL.into_iter().filter(|other| *other != verb).collect();
        let cx = Call::new(Owner::management("me").with_permissions(others));
        let error = ask(&*guarded, &cx, verb).await.unwrap_err();
        let expected = format!(
            "permission_denied: your role does not permit {verb}: do without it, or ask whoever runs this server for \
             another role"
        );
        assert_eq!(said(error), expected);
    }
    assert_eq!(rig.blue.asked(), [""; 0], "a refusal looks at nothing");
    for verb in Verb::ALL {
        let cx = Call::new(Owner::management("me").with_permissions(Permissions::of(&[verb])));
        let refused = ask(&*guarded, &cx, verb).await.err().filter(|e| e.kind() == ErrorKind::PermissionDenied);
        assert_eq!(refused, None, "{verb}");
    }
}

/// One call of a verb, whatever comes of it.
async fn ask(service: &dyn Service, cx: &Call, verb: Verb) -> Result<()> {
    let session = SessionId::random().unwrap();
    let (local, id, handle) = (Some(target("local")), "run-1".to_owned(), Handle(1));
    let (cursor, wait) = (Cursor::START, Wait::default());
    let describe = DescribeAgentSession { target: None, session: id.clone() };
    match verb {
        Verb::ListTargets => service.list_targets(cx, ListTargets::default()).await.map(drop),
        Verb::ExecuteCommand => service.execute_command(cx, Rig::command("true")).await.map(drop),
        Verb::StartSession => service.start_session(cx, Rig::request("true")).await.map(drop),
        Verb::ReadSession => {
            service.read_session(cx, ReadSession { session, target: local, cursor, wait }).await.map(drop)
        }
        Verb::WriteSession => {
            let request = WriteSession { session, target: local, input: bytes::Bytes::new(), wait };
            service.write_session(cx, request).await.map(drop)
        }
        Verb::ControlSession => {
            let request = ControlSession { session, target: local, action: sessiond_core::Action::Eof, wait };
            service.control_session(cx, request).await.map(drop)
        }
        Verb::StopSession => {
            service.stop_session(cx, StopSession { session, target: local, wait: ms(0) }).await.map(drop)
        }
        Verb::ListSessions => service.list_sessions(cx, ListSessions::default()).await.map(drop),
        Verb::ListHosts => service.list_hosts(cx).await.map(drop),
        Verb::ConnectHost => service.connect_host(cx, ConnectHost { target: local }).await.map(drop),
        Verb::ListConnections => service.list_connections(cx, ListConnections::default()).await.map(drop),
        Verb::DisconnectHost => service.disconnect_host(cx, DisconnectHost { target: local }).await.map(drop),
        Verb::RunCommand => service.run_command(cx, Rig::run("true")).await.map(drop),
        Verb::CheckCommand => service.check_command(cx, CheckCommand { handle, wait: ms(0) }).await.map(drop),
        Verb::ReadCommand => {
            let request = ReadCommand { handle, stream: Stream::Stdout, lines: None, start_line: None };
            service.read_command(cx, request).await.map(drop)
        }
        Verb::ReadCommandOutput => {
            let request = ReadCommandOutput { handle, stream: Stream::Stdout, cursor, wait };
            service.read_command_output(cx, request).await.map(drop)
        }
        Verb::KillCommand => service.kill_command(cx, kill(handle)).await.map(drop),
        Verb::ListCommands => service.list_commands(cx, ListCommands::default()).await.map(drop),
        Verb::ClearCommands => service.clear_commands(cx).await.map(drop),
        Verb::ListPlatforms => service.list_platforms(cx).await.map(drop),
        Verb::ListAgentSessions => {
            let query = AgentSessionQuery { limit: 1, ..AgentSessionQuery::default() };
            service.list_agent_sessions(cx, ListAgentSessions { target: None, query }).await.map(drop)
        }
        Verb::DescribeAgentSession => service.describe_agent_session(cx, describe).await.map(drop),
        Verb::AgentTokenUsage => service.agent_token_usage(cx, describe).await.map(drop),
        Verb::ListAgents => service.list_agents(cx, ListAgents::default()).await.map(drop),
        Verb::StartAgent => {
            let request = StartAgent { target: None, agent: "echo".to_owned(), inputs: None };
            service.start_agent(cx, request).await.map(drop)
        }
        Verb::ControlAgentSession => {
            let action = AgentAction::Cancel;
            let request = ControlAgentSession { target: None, session: id, action, input: None };
            service.control_agent_session(cx, request).await.map(drop)
        }
        Verb::DescribeManualTask => {
            service.describe_manual_task(cx, DescribeManualTask { target: None, work_item: id }).await.map(drop)
        }
        Verb::CompleteManualTask => {
            let finish_state = FinishState::Success;
            let request =
                CompleteManualTask { target: None, work_item: id, finish_state, confirm: true, variables: None };
            service.complete_manual_task(cx, request).await.map(drop)
        }
    }
}
