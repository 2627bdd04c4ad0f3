//! Who is let in, and as whom.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use sessiond_bootstrap::identity::{Denied, Identities, Kind, NewKey};
use sessiond_core::{Access, Owner, TargetName, Verb};

use crate::rig::{Keys, network, refused};

fn from(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn may(owner: &Owner) -> Vec<Verb> {
    Verb::ALL.into_iter().filter(|verb| owner.may(*verb)).collect()
}

fn read_only() -> Vec<Verb> {
    Verb::ALL.into_iter().filter(|verb| verb.is_read_only()).collect()
}

fn here() -> IpAddr {
    from("192.0.2.1")
}

async fn denied(identities: &Identities, key: &str) -> Denied {
    identities.bearer(here(), key).await.unwrap_err()
}

#[tokio::test]
async fn a_key_is_whoever_its_entry_says() {
    let keys = Keys::new();
    let (full, looks, scoped, some) = (keys.key(), keys.key(), keys.key(), keys.key());
    keys.write(&format!(
        "[keys.alice]\nsha256 = '{}'\nrole = 'full'\n\
         [keys.auditor]\nsha256 = '{}'\nrole = 'read-only'\nowner = 'alice'\n\
         [keys.box]\nsha256 = '{}'\ntarget = 'build-box'\n\
         [keys.two]\nsha256 = '{}'\ntargets = ['a', 'b']\ntools = ['session_read', 'list_sessions', 'execute_command']\n",
        full.digest(),
        looks.digest(),
        scoped.digest(),
        some.digest()
    ));
    let identities = network(&keys).identities;
    let of = async |key: &NewKey| identities.bearer(here(), key.expose()).await.unwrap();

    let alice = of(&full).await;
    assert_eq!((alice.owner.name().as_ref(), alice.kind), ("alice", Kind::Key));
    assert_eq!((alice.owner.access(), may(&alice.owner)), (&Access::Management, Verb::ALL.to_vec()));

    let auditor = of(&looks).await.owner;
    assert_eq!((auditor.name().as_ref(), auditor.access()), ("alice", &Access::Management));
    assert_eq!(may(&auditor), read_only());

    let build_box = TargetName::new("build-box").unwrap();
    assert_eq!(of(&scoped).await.owner.access(), &Access::Target(build_box));

    let two = of(&some).await.owner;
    let targets = ["a", "b"].map(|name| TargetName::new(name).unwrap());
    assert_eq!(two.access(), &Access::Targets(std::sync::Arc::new(targets.into_iter().collect())));
    assert_eq!(may(&two), [Verb::ExecuteCommand, Verb::ReadSession, Verb::ListSessions]);
}

#[tokio::test]
async fn what_is_no_key_is_refused_without_a_word_of_why() {
    let keys = Keys::new();
    let alice = keys.alice();
    let identities = network(&keys).identities;
    let (most, last) = alice.expose().split_at(alice.expose().len() - 1);
    let almost = format!("{most}{}", if last == "0" { "1" } else { "0" });
    let stranger = NewKey::random().unwrap();
    for wrong in [almost.as_str(), stranger.expose(), "sdk_", "x", &alice.digest().to_string(), "a.b.c"] {
        assert_eq!(denied(&identities, wrong).await, Denied::Unknown, "{wrong}");
    }
    for odd in ["", "with blank", "tab\t", "é", &"x".repeat(16 * 1024 + 1)] {
        assert_eq!(denied(&identities, odd).await, Denied::Malformed, "{odd}");
    }
}

#[tokio::test]
async fn a_header_is_bearer_and_a_key() {
    let keys = Keys::new();
    let alice = keys.alice();
    let identities = network(&keys).identities;
    let judged = async |header: Option<&str>| {
        let judged = identities.authorization(here(), header.map(str::as_bytes)).await;
        judged.map(|identity| identity.owner.name().to_string())
    };
    let key = alice.expose();
    for header in [format!("Bearer {key}"), format!("bearer   {key} "), format!("BEARER {key}")] {
        assert_eq!(judged(Some(&header)).await, Ok("alice".to_owned()), "{header}");
    }
    assert_eq!(judged(None).await, Err(Denied::Missing));
    for header in ["", key, "Bearer", "Basic YTpi", &format!("Bearer {key} {key}")] {
        assert_eq!(judged(Some(header)).await, Err(Denied::Malformed), "{header}");
    }
    assert_eq!(identities.authorization(here(), Some(b"Bearer \xff")).await.unwrap_err(), Denied::Malformed);
}

#[tokio::test]
async fn each_refusal_has_its_answer_in_http() {
    let too_many = Denied::TooMany { retry_after: Duration::from_secs(3) };
    let all = [
        (Denied::Missing, 401, None),
        (Denied::Malformed, 400, Some("invalid_request")),
        (Denied::Unknown, 401, Some("invalid_token")),
        (Denied::Expired, 401, Some("invalid_token")),
        (Denied::Scope, 403, Some("insufficient_scope")),
        (too_many, 429, None),
        (Denied::Unavailable, 503, None),
    ];
    for (denied, status, error) in all {
        assert_eq!((denied.status(), denied.error()), (status, error), "{denied:?}");
        assert!(denied.message().bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\'));
    }
    assert_eq!(too_many.retry_after(), Some(Duration::from_secs(3)));
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_guesses_are_limited_and_their_neighbours_are_not() {
    let keys = Keys::new();
    let alice = keys.alice();
    let identities = network(&keys).identities;
    identities.bearer(from("192.0.2.7"), alice.expose()).await.unwrap();

    let guess = NewKey::random().unwrap();
    let mut judged = 0;
    for _ in 0..10_000 {
        match identities.bearer(from("192.0.2.7"), guess.expose()).await.unwrap_err() {
            Denied::Unknown => judged += 1,
            denied => assert_eq!(denied, Denied::TooMany { retry_after: Duration::from_secs(6) }),
        }
    }
    assert_eq!(judged, 20);

    // Who had come from there before goes on; who comes anew has to wait, with a right key too.
    identities.bearer(from("192.0.2.7"), alice.expose()).await.unwrap();
    let other = keys.add("bob");
    identities.reload().unwrap();
    assert!(matches!(identities.bearer(from("192.0.2.7"), other.expose()).await, Err(Denied::TooMany { .. })));
    identities.bearer(from("192.0.2.8"), other.expose()).await.unwrap();

    tokio::time::advance(Duration::from_secs(6)).await;
    identities.bearer(from("192.0.2.7"), other.expose()).await.unwrap();
    assert_eq!(identities.bearer(from("192.0.2.7"), guess.expose()).await.unwrap_err(), Denied::Unknown);
    assert!(matches!(identities.bearer(from("192.0.2.7"), guess.expose()).await, Err(Denied::TooMany { .. })));
}

#[tokio::test(start_paused = true)]
async fn the_addresses_of_one_network_are_one_guesser() {
    let keys = Keys::new();
    keys.alice();
    let identities = network(&keys).identities;
    for host in 0..20 {
        let address = from(&format!("2001:db8:1:2::{host:x}"));
        assert_eq!(identities.bearer(address, "x").await.unwrap_err(), Denied::Unknown);
    }
    assert!(matches!(identities.bearer(from("2001:db8:1:2:3::4"), "x").await, Err(Denied::TooMany { .. })));
    assert_eq!(identities.bearer(from("2001:db8:1:3::1"), "x").await.unwrap_err(), Denied::Unknown);
    // An IPv4 address in the clothes of an IPv6 one is the same.
    for _ in 0..20 {
        let _ = identities.bearer(from("192.0.2.1"), "x").await;
    }
    assert!(matches!(identities.bearer(from("::ffff:192.0.2.1"), "x").await, Err(Denied::TooMany { .. })));
}

#[tokio::test]
async fn a_key_that_is_gone_from_the_file_ends_what_is_open_and_others_notice_nothing() {
    let keys = Keys::new();
    let (alice, bob) = (keys.alice(), keys.add("bob"));
    let identities = network(&keys).identities;
    let of = async |key: &NewKey| identities.bearer(here(), key.expose()).await;
    let (of_alice, of_bob) = (of(&alice).await.unwrap(), of(&bob).await.unwrap());

    keys.remove("bob");
    assert_eq!(identities.reload().unwrap(), "1 keys, 0 certificates, 0 scopes");
    of_bob.ended().await;
    assert!(of_bob.has_ended());
    assert_eq!(of(&bob).await.unwrap_err(), Denied::Unknown);
    assert!(!of_alice.has_ended());
    assert!(of(&alice).await.is_ok());
}

#[tokio::test]
async fn a_key_whose_role_has_changed_ends_what_is_open_and_has_the_new_one_at_the_next_call() {
    let keys = Keys::new();
    let alice = keys.alice();
    let identities = network(&keys).identities;
    let before = identities.bearer(here(), alice.expose()).await.unwrap();
    keys.write(&keys.text().replace("'full'", "'read-only'"));
    identities.reload().unwrap();
    before.ended().await;
    let after = identities.bearer(here(), alice.expose()).await.unwrap();
    assert_eq!(may(&after.owner), read_only());
}

#[tokio::test]
async fn a_broken_file_changes_nothing_and_says_so() {
    let keys = Keys::new();
    let alice = keys.alice();
    let identities = network(&keys).identities;
    let open = identities.bearer(here(), alice.expose()).await.unwrap();
    let good = keys.text();
    keys.write("[keys.alice]\nrole = 'all'\n");
    let said = identities.reload().unwrap_err().to_string();
    assert_eq!(keys.shortened(&said), "keys.toml:2: keys.alice.role must be one of full, read-only");
    std::fs::remove_file(keys.path()).unwrap();
    assert!(identities.reload().unwrap_err().to_string().contains("the keys file cannot be read: no such file"));
    assert!(!open.has_ended());
    assert!(identities.bearer(here(), alice.expose()).await.is_ok());
    keys.write(&good);
    identities.reload().unwrap();
    assert!(!open.has_ended());
}

#[tokio::test]
async fn an_expired_key_says_so_to_whoever_has_it() {
    let keys = Keys::new();
    let (old, new) = (keys.key(), keys.key());
    keys.write(&format!(
        "[keys.old]\nsha256 = '{}'\nrole = 'full'\nexpires = 2020-01-01\n\
         [keys.new]\nsha256 = '{}'\nrole = 'full'\nexpires = 2999-12-31T23:59:59Z\n",
        old.digest(),
        new.digest()
    ));
    let identities = network(&keys).identities;
    assert_eq!(denied(&identities, old.expose()).await, Denied::Expired);
    assert!(identities.bearer(here(), new.expose()).await.is_ok());
}

#[test]
fn every_problem_of_the_file_is_said_at_once_by_line() {
    let digest = "0".repeat(64);
    let text = format!(
        "[keys.a]\nrole = 'full'\n\
         [keys.b]\nsha256 = 'abc'\nrole = 'full'\n\
         [keys.c]\nsha256 = '{digest}'\n\
         [keys.d]\nsha256 = '{digest}'\nrole = 'admin'\n\
         [keys.e]\nsha256 = '{digest}'\ntools = ['session_reed']\n\
         [keys.f]\nsha256 = '{digest}'\nrole = 'full'\ntools = ['session_read']\n\
         [keys.g]\nsha256 = '{digest}'\ntarget = 'a'\ntargets = ['b']\n\
         [keys.h]\nsha256 = '{digest}'\nroll = 'full'\n\
         [keys.'has blank']\nsha256 = '{digest}'\nrole = 'full'\n\
         [keys.i]\nsha256 = '{digest}'\nrole = 'full'\nexpires = 2020-01-01T00:00:00\n\
         [keys.j]\nsha256 = '{digest}'\nrole = 'full'\nowner = 'a:b'\n\
         [certificates.k]\nrole = 'full'\n\
         [certificates.l]\nrole = 'full'\nname = 'spiffe://x'\n\
         [key.m]\nrole = 'full'\n"
    );
    assert_eq!(
        refused(&text).lines().collect::<Vec<_>>(),
        [
            "keys.toml:1: keys.a lacks sha256: `key new` makes a key and prints it",
            "keys.toml:3: keys.b has a sha256 that is not 64 hexadecimal digits: `key new` makes a key and prints them",
            "keys.toml:6: keys.c lets nobody do anything: add role = \"full\" or \"read-only\", target, targets or tools",
            "keys.toml:10: keys.d.role must be one of full, read-only",
            "keys.toml:13: keys.e.tools holds \"session_reed\", which is no tool; the nearest one is session_read",
            "keys.toml:17: keys.f.tools and role say the same: keep one of them",
            "keys.toml:21: keys.g.targets and target say the same: keep one of them",
            "keys.toml:22: keys.h lets nobody do anything: add role = \"full\" or \"read-only\", target, targets or tools",
            "keys.toml:24: keys.h has \"roll\", which is not known; the nearest one is role",
            "keys.toml:25: keys has \"has blank\", which is no name: that has at most 64 letters, digits, '.', '_' and '-'",
            "keys.toml:31: keys.i.expires must be a date or a time with its offset: 2027-01-01, or 2027-01-01T12:00:00Z",
            "keys.toml:32: keys.j has an owner that is no name",
            "keys.toml:36: certificates.k must say which certificate: subject = \"CN=…\", or name = \"URI:…\", one of them",
            "keys.toml:38: certificates.l has a name that begins with neither DNS:, URI: nor email:, as in the certificate",
            "keys.toml:41: \"key\" is not known; the nearest one is keys",
        ]
    );
    let twice = format!("[keys.a]\nsha256 = '{digest}'\nrole = 'full'\n[keys.b]\nsha256 = '{digest}'\nrole = 'full'\n");
    assert_eq!(refused(&twice), "keys.toml:4: keys.b has the key of another entry: `key new` makes one");
    assert_eq!(refused("keys = 1\n"), "keys.toml:1: keys must hold entries: [keys.NAME]");
    assert_eq!(refused("[keys]\na = 1\n"), "keys.toml:2: keys.a must be a table: [keys.a]");
}

#[test]
fn a_key_in_the_wrong_place_is_not_repeated() {
    let key = NewKey::random().unwrap();
    let secret = key.expose();
    for text in [
        format!("[keys.a]\nsha256 = '{secret}'\nrole = 'full'\n"),
        format!("[keys.a]\nrole = '{secret}'\n"),
        format!("[keys.a]\ntools = ['{secret}']\n"),
        format!("[keys.a]\n{secret} = 'full'\n"),
        format!("[keys.a]\nsha256 = {secret}\n"),
        format!("[keys.a]\nexpires = '{secret}'\n"),
        format!("[keys.a]\ntarget = '{secret} '\n"),
        format!("[keys.{secret}]\nrole = 'full'\n"),
        format!("[keys]\n{secret} = 'alice'\n"),
        format!("[scopes.'{secret}']\nrole = 'all'\n"),
        format!("[certificates.a]\nname = '{secret}'\nrole = 'full'\n"),
        format!("{secret} = 'full'\n"),
        format!("{secret}\n"),
    ] {
        assert!(!refused(&text).contains(secret), "{}", refused(&text).replace(secret, "SECRET"));
    }
}

#[test]
fn a_file_that_others_can_write_or_read_is_refused() {
    let keys = Keys::new();
    keys.alice();
    let mode = |mode| std::fs::set_permissions(keys.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    for open in [0o644, 0o660, 0o604, 0o620] {
        mode(open);
        let said = keys.shortened(&keys.load().unwrap_err());
        let expected = format!(
            "keys.toml: the keys file can be written or read by others (mode {open:04o}): chmod 600 it, or 640"
        );
        assert_eq!(said, expected);
    }
    for private in [0o600, 0o640, 0o400] {
        mode(private);
        assert!(keys.load().is_ok(), "{private:o}");
    }
}

#[test]
fn a_file_that_somebody_could_put_another_one_in_the_place_of_is_refused() {
    let keys = Keys::new();
    keys.alice();
    let directory = keys.directory().to_owned();
    let inner = directory.join("inner");
    std::fs::create_dir(&inner).unwrap();
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for open in [0o770, 0o707, 0o777] {
        mode(&directory, open);
        let said = keys.load().unwrap_err();
        let expected = format!(
            "the keys file can be replaced by others through {} (uid {}, mode {open:04o}): chmod go-w that",
            directory.display(),
            rustix::process::geteuid().as_raw(),
        );
        assert!(said.contains(&expected), "{said}");
    }
    // Nobody can take away what is another's in a sticky directory, such as /tmp.
    mode(&directory, 0o1777);
    assert!(keys.load().is_ok());

    // A link leads through two places, and each of them counts.
    mode(&directory, 0o700);
    mode(&inner, 0o700);
    std::fs::rename(keys.path(), inner.join("keys.toml")).unwrap();
    std::os::unix::fs::symlink("inner/keys.toml", keys.path()).unwrap();
    assert!(keys.load().is_ok());
    for place in [&directory, &inner] {
        mode(place, 0o730);
        assert!(keys.load().unwrap_err().contains("can be replaced by others"), "{}", place.display());
        mode(place, 0o700);
    }
}

#[test]
fn a_scope_is_whoever_the_token_names_and_has_no_owner_of_its_own() {
    assert_eq!(
        refused("[scopes.work]\nrole = 'full'\nowner = 'alice'\n"),
        "keys.toml:3: scopes.work has \"owner\", which is not known; known are role, target, targets, tools, expires"
    );
}

#[tokio::test]
async fn the_name_of_an_agents_tool_gives_no_hold_of_terminals() {
    // The word is a tool's and a verb's.
    let keys = Keys::new();
    let key = keys.key();
    keys.write(&format!("[keys.a]\nsha256 = '{}'\ntools = ['control_session']\n", key.digest()));
    let identities = network(&keys).identities;
    let identity = identities.bearer(here(), key.expose()).await.unwrap();
    assert_eq!(may(&identity.owner), [Verb::ControlAgentSession]);
}

#[tokio::test(start_paused = true)]
async fn whoever_has_many_networks_is_one_guesser_too() {
    let keys = Keys::new();
    let alice = keys.alice();
    let identities = network(&keys).identities;
    let mut judged = 0;
    for number in 0..20_000 {
        let address = from(&format!("2001:db8:7:{number:x}::1"));
        match identities.bearer(address, "x").await.unwrap_err() {
            Denied::Unknown => judged += 1,
            denied => assert_eq!(denied, Denied::TooMany { retry_after: Duration::from_millis(300) }),
        }
    }
    assert_eq!(judged, 400);
    // It has not used up what there is for others.
    identities.bearer(from("2001:db8:8::1"), alice.expose()).await.unwrap();
    identities.bearer(from("192.0.2.9"), alice.expose()).await.unwrap();
}

#[tokio::test]
async fn nothing_that_prints_has_a_secret() {
    let keys = Keys::new();
    let alice = keys.alice();
    let network = network(&keys);
    let identity = network.identities.bearer(here(), alice.expose()).await.unwrap();
    let printed = format!("{network:?} {identity:?} {alice:?} {:?}", Denied::Unknown);
    assert!(!printed.contains(alice.expose()) && !printed.contains(&alice.digest().to_string()), "{printed}");
}
