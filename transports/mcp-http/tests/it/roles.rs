//! The tools that a role may name are those that MCP has, and each permits what its tool needs.

use sessiond_bootstrap::identity::NewKey;
use sessiond_bootstrap::{Args, Bootstrap, Environment};
use sessiond_core::{Tasks, Verb};
use sessiond_mcp::{Family, tool_table};

#[tokio::test]
async fn a_role_that_names_a_tool_permits_that_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("keys.toml");
    let environment = Environment::of([("HOME", place.path()), ("SESSIOND_NETWORK__KEYS_FILE", &file)]);
    let bootstrap = Bootstrap::load(&Args::default(), environment).unwrap();
    let key = NewKey::random().unwrap();
    let tools = tool_table(&[Family::Session, Family::Ssh, Family::Agent]);
    assert!(tools.len() > 20, "{tools:?}");
    for tool in tools {
        let entry = format!("[keys.alice]\nsha256 = '{}'\ntools = ['{}']\n", key.digest(), tool.name);
        std::fs::write(&file, entry).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let network = bootstrap.network(&[], &Tasks::new());
        let identities = network.unwrap_or_else(|problems| panic!("{}: {problems}", tool.name)).identities;
        let alice = identities.bearer([127, 0, 0, 1].into(), key.expose()).await.unwrap();
        let permitted: Vec<_> = Verb::ALL.into_iter().filter(|verb| alice.owner.may(*verb)).collect();
        assert_eq!(permitted, [tool.verb], "{}", tool.name);
    }
}
