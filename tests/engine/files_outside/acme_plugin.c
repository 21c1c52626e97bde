/* A plugin of somebody's own, for tests: a passive force that does nothing. */
#include <mujoco/mjplugin.h>
#include <mujoco/mujoco.h>

static int nstate(const mjModel* m, int instance) { return 0; }
static void compute(const mjModel* m, mjData* d, int instance, int capability) {}

mjPLUGIN_LIB_INIT(acme) {
  mjpPlugin plugin;
  mjp_defaultPlugin(&plugin);
  plugin.name = "acme.nothing";
  plugin.capabilityflags |= mjPLUGIN_PASSIVE;
  plugin.nstate = nstate;
  plugin.compute = compute;
  mjp_registerPlugin(&plugin);
}
