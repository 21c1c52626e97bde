"""The smallest model that can go wrong: one hinge, and a motor without limits."""

__all__ = ["HINGE", "TIMESTEP"]

TIMESTEP = 0.002
HINGE = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody><body pos="0 0 1"><joint name="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 -.5" size=".05"/></body></worldbody>
  <actuator><motor joint="hinge"/></actuator>
</mujoco>
"""
