"""The Stroboscope debugger protocol: messages, sessions, transports and the backend contract.

Nothing here knows a physics engine or a window. A program that wants to be debugged implements
:class:`~stroboscope.debugger_protocol.backend.SceneBackend` and hands it to
:class:`~stroboscope.debugger_protocol.host.server.DebugServer`; a program that wants to debug
connects with :class:`~stroboscope.debugger_protocol.client.DebuggerClient`.
"""
