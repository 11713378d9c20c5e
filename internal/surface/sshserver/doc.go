// Package sshserver serves the console and the commands over SSH.
//
// Only the proven key or certificate identifies a person: the login name must match it but decides nothing. There is
// no password, forwarding, agent, subsystem or shell. The package does not know consoles or commands; it is given a
// function for each (consoles are drawn or in lines) and provides the person, a terminal and limits.
//
// charm.land/ssh handles the connection and the authentication. Its session handler is not used: it keeps any number
// of environment variables, stops reading requests if no one reads the window changes, and accepts agent forwarding.
// channel.go has ours.
package sshserver
