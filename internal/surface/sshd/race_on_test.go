//go:build race

package sshd

const raceOn = true
