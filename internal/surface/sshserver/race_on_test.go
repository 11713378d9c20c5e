//go:build race

package sshserver

const raceOn = true
