"use strict";
// What this folder's events do is decided in one place; HOOK.md says which events come here.
module.exports = require("../handle.js");
