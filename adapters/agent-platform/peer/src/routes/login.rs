//! Logging in.

use serde_json::json;

use super::Asked;
use crate::answer::Answer;
use crate::world::World;

pub(super) fn log_in(world: &mut World, asked: &Asked<'_>) -> Answer {
    match world.door.log_in(&asked.json()) {
        Ok(token) => Answer::json(&json!(token)).cookie(&token),
        Err(status) => Answer::failure(status),
    }
}

pub(super) fn token(world: &mut World, asked: &Asked<'_>) -> Answer {
    match world.door.grant(asked.body) {
        Ok((token, expires_in)) => {
            let answer = json!({ "access_token": token, "token_type": "Bearer" });
            let lasts = expires_in.map(|seconds| ("expires_in".to_owned(), json!(seconds)));
            Answer::json(&answer.as_object().cloned().into_iter().flatten().chain(lasts).collect())
        }
        Err(status) => Answer::failure(status),
    }
}

pub(super) fn whoami() -> Answer {
    Answer::json(&json!({ "username": "peer", "groups": [] }))
}
