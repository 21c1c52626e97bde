from stroboscope.app.overrides import guard_overrides

guard_overrides()
