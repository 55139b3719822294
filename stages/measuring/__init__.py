"""Measuring: interleaved time, peak memory, bandwidth, and the operator's real inputs."""
