// Package sdf reads worlds that are written in SDF, the Simulation Description Format of Gazebo, versions 1.6 to 1.11, into plain
// structs with the line of each.
//
// What Gazebo's own reader refuses is refused here, with file, line, what is wrong and what to write instead. What it takes is taken;
// an element that SDF does not know is a warning. Poses are resolved: each is in the frame of what holds it, whatever the file says
// they are relative to.
package sdf
